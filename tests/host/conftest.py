"""Fixtures of all tests of the machine."""

import os

import pytest
from tests.support.handles import open_handles


@pytest.fixture
def opened(tmp_path):
    """Write files and open them; returns a handle, which is closed after the test."""
    handles = []

    def open_file(data):
        path = tmp_path / f"file{len(handles)}"
        path.write_bytes(data)
        handles.append(os.open(path, os.O_RDONLY))
        return handles[-1]

    yield open_file
    for handle in handles:
        os.close(handle)


@pytest.fixture
def no_open_files():
    """The test leaves no file open."""
    before = open_handles()
    yield
    assert open_handles() - before == set()
