"""The safety class and the effects of a command, from the programs that it starts."""
