"""What is refused in every mode: one file per kind of catastrophe. `blocklist` asks them all."""
