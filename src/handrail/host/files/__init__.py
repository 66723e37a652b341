"""Files beneath root handles: resolve, read, write atomically, decode."""
