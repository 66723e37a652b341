"""The proxy through which a command reaches the hosts of a list, and no others."""
