"""How calls happen: registry, prepare, pipeline, scheduler, locks, results, events."""
