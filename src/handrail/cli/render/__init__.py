"""How the command line prints: streams, columns, colours, shared screens."""
