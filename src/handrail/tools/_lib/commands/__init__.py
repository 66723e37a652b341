"""What the tools that run programs share."""
