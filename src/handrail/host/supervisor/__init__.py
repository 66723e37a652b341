"""Programs that run for calls: one helper process per runtime starts, supervises and ends them.

`client` is the runtime's side. `runner/` runs in the helper processes and imports nothing heavy.
"""
