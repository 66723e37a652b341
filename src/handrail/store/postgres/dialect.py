"""Translates the statements of the record, which are written for SQLite, into PostgreSQL's."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from handrail.store.chain.ledger import LOOK

# All tables of a store, to distinguish them from other tables in the same schema.
TABLES: Final = (
    *("handrail_store", "ledger", "sessions", "rows", "payloads", "session_state", "claims"),
    *("leases", "dead_letters", "chain_end", "contents", "content_uses", "writers", "questions"),
)

# What SQLite's table of this name contains: tables, and objects that change their meaning.
_CATALOG: Final = (
    "(SELECT CASE WHEN relkind IN ('v', 'm', 'f') THEN 'view' ELSE 'table' END AS type,"
    " relname AS name FROM pg_class WHERE relnamespace = quote_ident(current_schema())::regnamespace"
    " AND relname IN (NAMES)"
    " UNION ALL SELECT 'trigger', tgname FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid"
    " WHERE NOT tgisinternal AND c.relnamespace = quote_ident(current_schema())::regnamespace"
    " AND c.relname IN (NAMES)"
    " UNION ALL SELECT 'trigger', rulename FROM pg_rewrite JOIN pg_class c ON c.oid = ev_class"
    " WHERE rulename != '_RETURN' AND c.relnamespace = quote_ident(current_schema())::regnamespace"
    " AND c.relname IN (NAMES)) AS sqlite_master"
).replace("NAMES", ", ".join(f"'{name}'" for name in TABLES))
_STATEMENTS: Final = {
    "PRAGMA user_version": "SELECT version FROM handrail_store",
    LOOK: (
        "SELECT e.rows, e.line, (SELECT max(id) FROM rows), (SELECT max(id) FROM ledger),"
        " (SELECT hash FROM rows WHERE id = coalesce($1::bigint, e.rows)),"
        " (SELECT hash FROM ledger WHERE id = coalesce($2::bigint, e.line)),"
        " 0, e.hash FROM (SELECT 1) AS one LEFT JOIN chain_end e ON true"
    ),
}
_WORDS: Final = {
    "length(CAST(body AS BLOB))": "octet_length(body)",
    "instr(": "strpos(",
    "char(1)": "chr(1)",
    "sqlite_master": _CATALOG,
}
_MARK: Final = re.compile(r"\?([0-9]*)")


@cache
def translate(statement: str) -> str:
    """Translate a statement for PostgreSQL, with numbered parameters."""
    whole = _STATEMENTS.get(statement)
    if whole is not None:
        return whole
    for word, other in _WORDS.items():
        statement = statement.replace(word, other)
    count = 0

    def number(mark: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return f"${mark[1] or count}"

    return _MARK.sub(number, statement)
