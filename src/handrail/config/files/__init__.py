"""Reading configuration files, with the line of each value."""
