"""Asking the user at a terminal, in this process or in another one."""
