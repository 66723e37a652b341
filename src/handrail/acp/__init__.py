"""The agent behind `handrail acp`: sessions of an editor that uses the Agent Client Protocol."""
