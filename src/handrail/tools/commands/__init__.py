"""Tools that run programs, and tools for background jobs."""
