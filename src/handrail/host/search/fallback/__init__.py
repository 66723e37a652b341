"""Search in pure Python, used where ripgrep cannot run."""
