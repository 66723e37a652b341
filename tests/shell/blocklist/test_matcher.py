"""The blocklist as a whole: users, containers, Handrail itself, and the user's own rows."""

import pytest
from tests.support.commands import ROOT, WHERE, expanded, refused

from handrail.shell.blocklist import messages
from handrail.shell.blocklist.matcher import (
    find_blocked_in_text,
    find_refused_uses,
    find_user_changes,
)


def told(check, command):
    seen = expanded(command)
    return [reason for call in seen.calls for reason in check(call, seen)]


@pytest.mark.parametrize(
    ("command", "root"),
    [
        ("setpriv --reuid=0 x", True),
        ("setpriv --reuid 0 x", True),
        ("setpriv --reuid=1000 x", False),
        ("systemd-run --uid=root x", True),
        ("systemd-run -M x", True),
        ("systemd-run x", False),
        ("machinectl shell", True),
        ("machinectl list", False),
        ("nsenter -t 1 x", True),
        ("nsenter --target 1 x", True),
        ("nsenter -t 5 x", False),
        ("sg docker x", True),
        ("newgrp users", False),
        ("ssh root@localhost", True),
        ("ssh root@x.example", False),
        ("docker run --privileged x", True),
        ("docker run -v /:/host x", True),
        ("docker run --volume /etc:/x x", True),
        ("podman create --pid=host x", True),
        ("docker exec --privileged x", True),
        ("docker run --cap-add SYS_ADMIN x", True),
        ("docker run x", False),
        ("docker run -v ./a:/b x", False),
        ("docker build --privileged .", False),
        ("kubectl run --privileged x", False),
        ("chroot / x", True),
        ("chroot /usr x", True),
        ("chroot jail x", False),
        ("chroot", False),
    ],
)
def test_programs_that_run_as_root(command, root):
    assert bool(told(find_user_changes, command)) is root


@pytest.mark.parametrize("command", ["ls", "git status", "python x.py"])
def test_ordinary_uses(command):
    assert told(find_refused_uses, command) == []


@pytest.mark.parametrize(
    ("command", "blocked"),
    [
        ("sudo ls", True),
        ("sudo --help", False),
        ("sudo --version", False),
        ("sudo --help x", True),
        ("./sudo ls", False),
        (f"{ROOT}/sudo ls", False),
        ("mkfs.ext4 /dev/sda", True),
        ("mkfs.ext4 disk.img", False),
        ("newfs_msdos /dev/sda", True),
        ("mkfsx y", False),
        ("shutdown now", True),
        ("handrail x", True),
        ("handrail --help", True),
        ("./handrail x", True),
        ("uvx handrail", True),
        ("uvx handrail@1.0 x", True),
        ("pipx run handrail", True),
        ("uvx a b c handrail", True),
        ("uvx a b c d handrail", False),
        ("uvx other", False),
        ("python -m handrail", True),
        ("python3.12 -m handrail.cli x", True),
        ("pypy -m handrail", True),
        ("python -m", False),
        ("python -m other handrail", False),
        ("ruby -m handrail", False),
        ("alias x='rm -rf /'", True),
        ("alias x=ls", False),
        ("/b?n/sudo ls", True),
        ("pwsh -c 'Remove-Item -Recurse /'", True),
        ("bash -c 'sudo ls'", True),
        ("echo 'sudo ls' | sh", True),
        ("echo 'sudo ls'", False),
        ("python -c 'import os; os.system(\"sudo ls\")'", True),
        ("ls", False),
    ],
)
def test_what_is_blocked(command, blocked):
    assert bool(refused(command)) is blocked


@pytest.mark.parametrize(
    ("command", "blocked"),
    [
        ("terraform destroy", True),
        ("terraform destroy -auto-approve", True),
        ("/usr/bin/terraform destroy", True),
        ("terraform plan", False),
        ("terraform", False),
        ("terraform 'destroy'", True),
        ("echo terraform destroy", False),
        ("deploy", True),
        ("deploy x", True),
        ("env deploy", True),
    ],
)
def test_the_users_own_rows(command, blocked):
    found = refused(command, user_blocked=("terraform destroy", "deploy", " "))

    assert any(one.text.endswith(messages.ASK_THE_USER) for one in found) is blocked


def test_reasons_are_different_and_few():
    assert len(refused("sudo ls; sudo ls")) == len(refused("sudo ls"))
    assert len(refused("; ".join(f"sudo {number}" for number in range(20)))) == 8


@pytest.mark.parametrize(
    ("text", "blocked"),
    [
        ("rm -rf / (", True),
        ("sudo ls (", True),
        (":(){ :|:& };: (", True),
        ("bash -c 'rm -rf /' (", True),
        ("deploy (", True),
        ("ls (", False),
    ],
)
def test_commands_that_cannot_be_read(text, blocked):
    assert bool(find_blocked_in_text(text, WHERE, ("deploy",))) is blocked
