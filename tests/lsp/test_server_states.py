"""What is reported about each language server."""

from types import SimpleNamespace

import pytest

from handrail.lsp.service import _state


@pytest.mark.parametrize(
    ("path", "living", "state"),
    [
        (None, set(), "not used"),
        (None, {"ty"}, "not used"),
        ("/bin/ty", set(), "available"),
        ("/bin/ty", {"clangd"}, "available"),
        ("/bin/ty", {"ty", "clangd"}, "running"),
    ],
)
def test_the_state_of_a_server(path, living, state):
    program = SimpleNamespace(path=path, spec=SimpleNamespace(name="ty"))

    assert _state(program, living) == state
