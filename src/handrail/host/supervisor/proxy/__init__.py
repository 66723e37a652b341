"""The proxy through which a command reaches the hosts of a list, and nothing else."""
