"""Handrail inside other agent frameworks; one module per framework, imported only when it is used.

Every call of a framework goes through `Runtime.call`: policy, record and undo are those of the
runtime.
"""
