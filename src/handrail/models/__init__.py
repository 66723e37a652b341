"""Models behind the port of `core/ports/models.py`: wire formats, HTTP, scripts and recordings."""
