"""The sources of workspace files: directories, git, tar archives, fsspec."""
