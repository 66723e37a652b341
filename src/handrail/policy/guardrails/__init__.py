"""Guardrails: deterministic limits that stand above rules and modes, out of the model's reach."""
