"""Public fakes for people who build agents on Handrail."""
