"""Names with a meaning: protected and sensitive files, hosts, URLs, and the caller's names of tools."""
