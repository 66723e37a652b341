"""Where the files of workspaces come from: directories, git, tar archives, fsspec."""
