"""Language servers: which are used, how they are talked to, and what their answers mean.

Knows only `core`: programs are found and started by what `assembly` passes in.
"""
