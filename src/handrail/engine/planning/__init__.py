"""Plans of file changes, and what may be done with a call instead of running it: the queue of plan
mode, its runner, the plan file, and descriptions in dry runs.
"""
