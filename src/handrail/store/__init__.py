"""The store of the record of every call: SQLite or PostgreSQL, hash-chained."""
