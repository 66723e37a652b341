"""Paths that mean something else in every process, as the mediator of system calls reads them."""

import pytest

from handrail.host.supervisor.tracing.call_mediator import _own_path


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        (b"/proc/self/fd/3", b"/proc/7/fd/3"),
        (b"/proc/thread-self/cwd", b"/proc/7/cwd"),
        (b"/dev/fd/3", b"/proc/7/fd/3"),
        (b"/proc/selfish", b"/proc/selfish"),
        (b"/proc/8/fd/3", b"/proc/8/fd/3"),
        (b"a/dev/fd/3", b"a/dev/fd/3"),
        (b"", b""),
    ],
)
def test_a_path_of_the_own_process_is_that_of_the_program(path, meant):
    assert _own_path(7, path) == meant
