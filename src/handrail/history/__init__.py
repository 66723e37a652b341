"""What was changed and how it is taken back: commit of plans, before-images."""
