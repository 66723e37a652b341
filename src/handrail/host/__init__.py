"""The machine: files beneath root handles, processes through `processes.spawn`, search."""
