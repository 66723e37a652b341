"""Which denies about writing the sandbox can keep, and what is said of the others."""

import pytest
from tests.policy.rule_support import (
    ASK,
    DENY,
    GROUNDS,
    CommandClass,
    call,
    command,
    effect,
    rule,
    rules,
)

from handrail.policy.denials.write_denials import build_write_denials
from handrail.policy.rules.paths.pattern import PathBase, exact_denied_paths
from handrail.policy.rules.rule_set import DenialEnforcement

BOTH = ("/ws/migrations", "/other/migrations")
MAKE = command("make", open_ended=True)


def held(*paths):
    return DenialEnforcement(writes=lambda analysis: frozenset(paths))


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("migrations/**", BOTH),
        ("migrations/", None),
        ("/migrations", (*BOTH, "/migrations")),
        ("./migrations", BOTH),
        ("migrations/*", BOTH),
        ("a/b.toml", ("/ws/a/b.toml", "/other/a/b.toml")),
        (r"a/\[x\].py", ("/ws/a/[x].py", "/other/a/[x].py")),
        ("//srv/x/**", ("/srv/x",)),
        ("~/x", (f"{GROUNDS.home}/x",)),
        ("{a,b}/**", ("/ws/b", "/other/b", "/ws/a", "/other/a")),
        ("{a/**,*.lock}", None),
        ("uv.lock", None),
        ("*.lock", None),
        ("**/migrations/**", None),
        ("migrations/*.py", None),
        ("migrations/*/x", None),
        ("migrations/[ab]/**", None),
        ("./*", None),
        ("//ws/**", None),
        ("//**", None),
        ("//", None),
    ],
)
def test_a_pattern_closes_what_it_means_as_a_whole(pattern, paths):
    found = exact_denied_paths(pattern, GROUNDS)

    assert (found and set(found)) == (paths and set(paths))


def test_a_link_must_be_held_with_what_it_leads_to():
    path_base = PathBase(("/ws",), None, lambda path: path.replace("/ws/link", "/ws/real"))

    assert exact_denied_paths("link/**", path_base) == ("/ws/link", "/ws/real")


def test_what_is_held_needs_no_question():
    denied = rules("deny write_file(migrations/**)", enforcement=held(*BOTH))

    assert effect(denied, MAKE) is None
    assert effect(denied, command("pytest migrations", open_ended=True)) is None
    assert effect(denied, command("touch x", writes=("/ws/migrations/x",))) == DENY
    assert effect(denied, call("edit_file", "migrations/x")) == DENY


def test_all_of_it_must_be_held():
    denied = rules("deny write_file(migrations/**)", "deny Edit(a/b)", enforcement=held(*BOTH))
    partly = rules("deny write_file(migrations/**)", enforcement=held(BOTH[0]))

    assert "Edit(a/b)" in denied.judge(MAKE).reason
    assert effect(partly, MAKE) == ASK


def test_outside_the_sandbox_nothing_is_held():
    denied = rules("deny write_file(migrations/**)", enforcement=held(*BOTH))

    assert effect(denied, command("make", open_ended=True, unconfined=True)) == ASK


def test_a_dangerous_command_that_names_it_is_denied():
    denied = rules("deny write_file(migrations/**)", enforcement=held(*BOTH))

    assert effect(denied, command("odd migrations/x", safety_class=CommandClass.DANGEROUS)) == DENY


def test_what_must_not_be_read_is_not_kept_by_holding_it():
    denied = rules("deny read_file(migrations/**)", enforcement=held(*BOTH))

    assert effect(denied, MAKE) == ASK


def test_a_command_that_can_write_nothing_keeps_every_rule_about_writing():
    looks = command("git log", safety_class=CommandClass.SAFE)
    enforcement = DenialEnforcement(writes=lambda analysis: None)

    assert effect(rules("deny write_file(*.lock)"), looks) == ASK
    assert effect(rules("deny write_file(*.lock)", enforcement=enforcement), looks) is None
    assert effect(rules("deny read_file(*.lock)", enforcement=enforcement), looks) == ASK


@pytest.mark.parametrize(
    ("text", "helps"),
    [
        ("deny write_file(migrations/**)", "is read-only for commands"),
        ("deny write_file(*.lock)", "`migrations/**`"),
        ("deny read_file(.env)", "hidden from commands"),
    ],
)
def test_a_question_says_what_would_help(text, helps):
    assert helps in rules(text).judge(MAKE).hint


def test_the_rule_that_surely_means_the_command_is_named():
    both = rules("deny write_file(*.lock)", "ask Bash(make:*)")

    assert "ask Bash(make:*)" in both.judge(MAKE).reason


def test_what_is_closed_is_told_with_its_rule():
    closed = build_write_denials(
        rules("deny write_file(migrations/**)", "ask write_file(a/**)", "deny read_file(b/**)"),
        [rule("deny edit_file(./uv.lock)"), rule("deny edit_file(*.pem)")],
    )

    assert set(closed.paths) == {*BOTH, "/ws/uv.lock", "/other/uv.lock"}
    assert closed.paths["/ws/migrations"] == "deny write_file(migrations/**)"
    assert closed.may_affect(MAKE.command)
    assert not closed.may_affect(command("touch x", writes=("/ws/x",)).command)
    assert build_write_denials(rules("deny write_file(*.pem)")) is None
