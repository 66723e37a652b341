"""Which calls may run: modes, rules, guardrails, protected names, approval."""
