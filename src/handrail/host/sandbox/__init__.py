"""What confines the programs we start: backends, profiles, and the probe that measures them."""
