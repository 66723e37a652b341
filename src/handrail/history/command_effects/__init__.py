"""What commands changed in the workspace, and how sure that is."""
