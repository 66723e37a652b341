"""Where a store is: a file, `:memory:`, or the URL of a PostgreSQL database."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

MEMORY: Final = ":memory:"
_SCHEMES: Final = ("postgresql://", "postgres://")


def is_store_url(location: str | Path) -> bool:
    """Whether a store is on a database server."""
    return isinstance(location, str) and location.startswith(_SCHEMES)


def normalize_location(location: str | Path) -> str:
    """The location in the form in which stores are opened: a URL, `:memory:` or an absolute path."""
    if location == MEMORY or is_store_url(location):
        return str(location)
    return str(Path(location).absolute())


def server_name(location: str) -> str:
    """A short name for the database of a URL, the same for every user and password."""
    parts = urlsplit(location)
    kept = sorted(
        pair for pair in parse_qsl(parts.query) if pair[0] in ("host", "port", "dbname", "options")
    )
    server = parts.netloc.rpartition("@")[2]
    digest = sha256(repr((server, parts.path, kept)).encode()).hexdigest()
    return f"server-{digest[:12]}"


def shown_location(location: str) -> str:
    """The location as it may be shown. A URL is reduced to user, server and database: the password and
    the parameters, which can contain a password, are left out.
    """
    if not is_store_url(location):
        return location
    try:
        parts = urlsplit(location)
        server = parts.netloc.rpartition("@")[2]
        user = "" if parts.username is None else f"{unquote(parts.username)}@"
    except ValueError:
        return "postgresql://"
    return f"postgresql://{user}{server}{parts.path}"
