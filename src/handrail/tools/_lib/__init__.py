"""What several built-in tools share."""
