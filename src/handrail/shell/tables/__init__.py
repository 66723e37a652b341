"""What is known about programs: their options, wrappers and the catastrophic ones."""
