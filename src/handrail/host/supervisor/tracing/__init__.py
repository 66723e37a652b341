"""Traces which files a program is about to write, without allowing or denying the writes."""
