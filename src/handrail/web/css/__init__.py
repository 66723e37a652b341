"""Finds which text of a page its styles hide: the subset of CSS that `html_worker` reads."""
