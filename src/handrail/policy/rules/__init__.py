"""Allow, ask and deny rules: parsing, path and command patterns, matching, verdicts."""
