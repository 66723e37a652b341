"""Static analysis of shell command lines: parsing, expansion, classification and the blocklist."""
