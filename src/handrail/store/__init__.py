"""Where the record of every call is kept: SQLite, hash-chained."""
