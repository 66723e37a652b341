"""What well-known queries print."""

import pytest

from handrail.shell.simulate.known_answers import known_answer
from handrail.shell.simulate.shell_state import ShellState


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("git rev-parse --git-dir", "/w/app/.git"),
        ("git rev-parse --absolute-git-dir", "/w/app/.git"),
        ("git rev-parse --git-common-dir", "/w/app/.git"),
        ("git rev-parse --git-path hooks", "/w/app/.git/hooks"),
        ("git -C x rev-parse --show-toplevel", "/w/app"),
        ("hg root", "/w/app"),
        ("python3 -m site --user-site", "/home/u/.local/lib/python3/site-packages"),
        ("gpgconf --list-dirs homedir", "/home/u/.gnupg"),
        ("docker info -f {{.DockerRootDir}}", "/var/lib/docker"),
        ("findmnt -no TARGET x", "/"),
        ("git status", None),
        ("git rev-parse HEAD", None),
        ("npm run x", None),
    ],
)
def test_the_answer_of_a_query(command, answer):
    state = ShellState("/w/app/src", "/home/u", roots=("/w/app", "/other"))

    found = known_answer(command.split(), state)

    assert found == (None if answer is None else f"{answer}\n")
