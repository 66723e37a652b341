"""What is read from and written to the tables, one module per kind of record."""
