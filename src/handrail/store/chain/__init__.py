"""The hash chain over all rows: hashes, ledger, verification."""
