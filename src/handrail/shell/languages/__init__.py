"""Parsers for the programs that awk and jq take as arguments."""
