"""Approvers, the rule an approval suggests, and the grants of a session."""
