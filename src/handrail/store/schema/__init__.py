"""The schema of the store: numbered migrations and what applies them."""
