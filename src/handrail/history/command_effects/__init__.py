"""What commands changed in the workspace, and how certain that is."""
