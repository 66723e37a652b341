"""The store on PostgreSQL: dialect, connection, transactions, questions to users."""
