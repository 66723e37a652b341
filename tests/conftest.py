"""Fixtures that every test may use."""

import pytest


@pytest.fixture
def anyio_backend():
    return "asyncio"
