"""The agent behind `handrail acp`: sessions of an editor that speaks the Agent Client Protocol."""
