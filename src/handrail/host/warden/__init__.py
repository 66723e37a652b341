"""Programs that run for calls: one helper process per runtime starts, hears and ends them.

The runtime's side is `client`; everything else but `link`, `start`, `records` and `segments`
runs in the helper. What the helper imports is light, and it never imports the engine.
"""
