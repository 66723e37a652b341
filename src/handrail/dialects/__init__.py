"""One table per vocabulary: canonical inside, the model's own words at the rim."""
