"""The SQLite store: connection, writer thread, encoding of rows."""
