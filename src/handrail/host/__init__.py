"""The machine: files beneath root handles, processes through one door, search."""
