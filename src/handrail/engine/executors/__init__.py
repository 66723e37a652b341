"""How a cleared call is carried out: as a plan of file changes, as a command, or directly."""
