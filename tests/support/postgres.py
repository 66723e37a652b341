"""Tests on both engines of the store, and whether a PostgreSQL server can be had."""

import importlib.util
import os
import shutil
from functools import cache

import pytest
from tests.support.postgres_server import programs

BOTH_ENGINES = pytest.mark.parametrize(
    "engine", ["sqlite", pytest.param("postgresql", marks=pytest.mark.needs_postgres)]
)


@cache
def postgres_works():
    """Whether a server can be started and reached: programs, driver, and a user to run as."""
    can_leave_root = os.geteuid() != 0 or shutil.which("setpriv") is not None
    return programs() is not None and can_leave_root and bool(importlib.util.find_spec("psycopg"))
