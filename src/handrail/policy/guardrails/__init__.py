"""Guardrails: deterministic limits that override rules and modes, and that a model cannot change."""
