"""A workspace with protected names, its handle, and what watches over them."""

import os

import pytest
from tests.support.protected_workspace import TABLE, build

from handrail.host.files.root_identity import RootHandle
from handrail.host.sandbox.protected.guard import ProtectedState


@pytest.fixture
def work(tmp_path):
    return build(tmp_path / "work")


@pytest.fixture
def top(work):
    handle = os.open(work, os.O_PATH)
    yield RootHandle(str(work), handle)
    os.close(handle)


@pytest.fixture
def state(tmp_path):
    return ProtectedState(TABLE, tmp_path / "state")
