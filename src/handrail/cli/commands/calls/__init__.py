"""Commands that make, explain or approve calls."""
