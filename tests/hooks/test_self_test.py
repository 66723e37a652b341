"""What is known of a hook's command without running it."""

import pytest

from handrail.core.commands import UnreadableCommand
from handrail.hooks.self_test import SelfTestEnvironment, check_hook_command, outside_paths
from handrail.hooks.spec import HookEvent, HookSpec, tool_matcher
from handrail.policy.protected_names import protected_reason

THERE = {"/w/scripts/check.sh", "/w/.handrail/hooks/check.sh", "/h/hooks/a.py", "/opt/lint"}


def parse(text):
    if text.endswith("then"):
        raise UnreadableCommand("it is no valid command")


MACHINE = SelfTestEnvironment(
    ["/w"],
    "/h",
    parse,
    lambda text: [part.split() for part in text.split(";")],
    lambda name: f"/usr/bin/{name}" if name in ("bash", "python3", "ruff") else None,
    lambda path: path in THERE,
    lambda path: protected_reason(path) is not None,
)


def hook(command, event=HookEvent.PRE_TOOL_USE):
    return HookSpec("h", event, command, "here", tool_matcher("*"))


@pytest.mark.parametrize(
    ("command", "faults"),
    [
        ("ruff check .", []),
        ("rufff check .", ["there is no program 'rufff'"]),
        ("echo hi; exit 2", []),
        ("bash /h/hooks/b.sh", ["there is no '/h/hooks/b.sh'"]),
        ("python3 $HOME/hooks/a.py", []),
        ("python3 ${HOME}/hooks/b.py", ["there is no '/h/hooks/b.py'"]),
        ("python3 ~/hooks/b.py", ["there is no '/h/hooks/b.py'"]),
        ("python3 -m pytest", []),
        ("/opt/lint x", []),
        ("./scripts/none.sh", ["there is no '/w/scripts/none.sh'"]),
        ("bash $CLAUDE_PROJECT_DIR/scripts/none.sh", ["there is no '/w/scripts/none.sh'"]),
        ("if true; then", ["its command cannot be read"]),
    ],
)
def test_what_it_starts_must_be_there(command, faults):
    found = check_hook_command(hook(command), MACHINE).errors

    assert [one.split(",")[0].split(":")[0] for one in found] == faults


def test_a_guard_that_the_model_can_change_is_a_doubt():
    changeable = check_hook_command(hook("bash scripts/check.sh"), MACHINE)

    assert "the model can change" in changeable.warnings[0]
    assert check_hook_command(hook("bash .handrail/hooks/check.sh"), MACHINE).warnings == ()
    assert (
        check_hook_command(hook("bash scripts/check.sh", HookEvent.POST_TOOL_USE), MACHINE).warnings
        == ()
    )


def test_what_a_command_names_outside_is_found():
    command = "python3 ~/hooks/a.py --with=/opt/lint scripts/check.sh /w/scripts/check.sh /none"

    assert list(outside_paths(hook(command), MACHINE)) == ["/h/hooks/a.py", "/opt/lint"]
