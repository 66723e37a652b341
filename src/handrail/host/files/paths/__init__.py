"""From a path as text to an open handle beneath a root, without following links out of it."""
