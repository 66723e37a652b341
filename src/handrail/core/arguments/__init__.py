"""Arguments of tools: JSON Schema, validation models, and the paths in them."""
