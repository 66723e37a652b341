"""Who may do what: modes, protected names, approval."""
