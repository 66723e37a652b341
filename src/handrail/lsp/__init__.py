"""Language servers: which are used, how messages are exchanged, and what their answers mean.

Imports only `core`: `assembly` passes in what finds and starts programs.
"""
