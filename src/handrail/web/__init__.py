"""Requests to the web: a transport that checks and pins addresses, pages, search, screenshots."""
