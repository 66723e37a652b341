"""Values and protocols that all packages share. No I/O, and no import of another package of Handrail."""
