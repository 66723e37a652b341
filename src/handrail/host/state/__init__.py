"""State that outlives a process: the state directory, blobs, artifacts, locks and identities."""
