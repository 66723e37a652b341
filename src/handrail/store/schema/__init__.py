"""The schema of the store: numbered migrations, and the code that applies them."""
