"""Asks the user at a terminal, of this process or of another one."""
