"""A workspace for file tests, opened both ways: with openat2 and with the walk."""

import pytest

from handrail.host.files import roots
from handrail.host.files.local_files import LocalFiles


@pytest.fixture(params=["openat2", "walk"])
def opener(request, monkeypatch):
    """Both ways of staying beneath a handle must behave the same."""
    if request.param == "walk":
        monkeypatch.setattr(roots, "kernel_has_openat2", lambda: False)
    else:
        assert roots.kernel_has_openat2(), "these tests need a kernel with openat2"
    return request.param


@pytest.fixture
def work(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    return work


@pytest.fixture
def files(work):
    files = LocalFiles([work])
    yield files
    files.close()


@pytest.fixture(autouse=True)
def descriptors(no_open_files):
    """Every test leaves no file open."""
