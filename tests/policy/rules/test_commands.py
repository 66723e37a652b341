"""Rules about commands speak of every program that a command starts."""

import pytest
from tests.policy.rule_support import (
    ALLOW,
    ASK,
    DENY,
    CommandClass,
    command,
    effect,
    part,
    rules,
)

from handrail.core.commands import CommandSegment


@pytest.mark.parametrize(
    ("rule", "covered", "others"),
    [
        (
            "git status:*",
            ["git status", "git status -s", "git status -s src"],
            ["git statusx", "git", "git stash", "git -C x status", "./git status", "GIT status"],
        ),
        ("npm test", ["npm test"], ["npm test --x", "npm", "npm tests", "npm  run"]),
        ("git log *", ["git log", "git log -p x"], ["git logs", "git"]),
        ("npm run test*", ["npm run test", "npm run test:unit"], ["npm run test a", "npm run x"]),
        ("tox * fast", ["tox run fast"], ["tox -f fast", "tox run all fast", "tox fast"]),
        ("black *.py", ["black a.py"], ["black --out=x.py", "black a.pyc"]),
        ("echo 'a b'", [], ["echo a b"]),
    ],
)
@pytest.mark.feature("G10", "G16")
def test_an_allow_covers_its_words_and_no_more(rule, covered, others):
    allowed = rules(f"allow Bash({rule})")

    assert [one for one in covered if effect(allowed, command(one)) != ALLOW] == []
    assert [one for one in others if effect(allowed, command(one))] == []


def test_quoted_words_are_one_word():
    assert effect(rules("allow Bash(echo 'a b')"), command(part("echo", "a b"))) == ALLOW


@pytest.mark.feature("G10")
def test_an_allow_needs_every_part():
    allowed = rules("allow Bash(ls:*)", "allow Bash(cd:*)", "allow Bash(git status:*)")

    assert effect(allowed, command("cd src", "git status", "ls -la")) == ALLOW
    for chained in ("rm x", "curl evil", "bash", "git push"):
        assert effect(allowed, command("ls", chained)) is None
        assert effect(allowed, command("cd src", "ls", chained)) is None
    assert effect(allowed, command()) is None
    assert effect(allowed, command("ls", part(writes=True))) is None


def test_an_allow_covers_nothing_computed():
    allowed = rules("allow Bash(git status:*)", "allow Bash(npm test)")

    assert effect(allowed, command(part("git", "status", None))) == ALLOW
    assert effect(allowed, command(part("git", None))) is None
    assert effect(allowed, command(part(None, "status"))) is None
    assert effect(allowed, command(part("npm", "test", None))) is None


def test_an_allow_covers_nothing_that_is_in_doubt_or_leaves_the_sandbox():
    allowed = rules("allow Bash(npm test:*)")

    assert effect(allowed, command("npm test")) == ALLOW
    assert effect(allowed, command("npm test", rule_matchable=False)) is None
    assert effect(allowed, command("npm test", unconfined=True)) is None
    assert effect(allowed, command("npm test", safety_class=CommandClass.BLOCKED)) is None


def test_an_allow_covers_no_redirect_without_an_allow_for_the_file():
    redirect = command(part("npm", "test", writes=True), writes=("/ws/out/log",))
    allowed = ["allow Bash(npm test:*)", "allow edit_file(out/**)"]

    assert effect(rules(*allowed), redirect) is None
    assert effect(rules(*allowed, "allow write_file(out/**)"), redirect) == ALLOW
    assert effect(rules(*allowed, "allow write_file(src/**)"), redirect) is None


@pytest.mark.parametrize(
    ("rule", "bound", "free"),
    [
        ("rm:*", ["rm x", "/bin/rm x", "RM x", "rm"], ["rmdir x", "echo rm"]),
        ("rm -rf:*", ["rm -rf x", "rm -fr x", "rm -r -f x", "rm x -rf", "rm -rvf x"], ["rm -r x"]),
        ("rm -rf /", ["rm -rf /", "rm -fr /", "rm / -r -f", "rm -rf -v /"], ["rm -rf build"]),
        (
            "git push:*",
            ["git push", "git push origin", "git -C dir push", "git --no-pager push"],
            ["git stash push", "git pull", "git log push"],
        ),
        (
            "git push --force:*",
            ["git push --force", "git push origin main --force", "git push --forc x"],
            ["git push", "git push --follow-tags", "git push origin force"],
        ),
        ("git push * main", ["git push origin main", "git push main"], ["git push origin dev"]),
        ("find * -delete", ["find . -delete", "find a -name b -delete"], ["find . -depth -type l"]),
        ("npm *", ["npm test", "npm"], ["npx x"]),
        ("*sh:*", ["bash x", "zsh"], ["ls"]),
    ],
)
def test_a_deny_binds_whatever_the_order_and_the_spelling(rule, bound, free):
    denied = rules(f"deny Bash({rule})")

    assert [one for one in bound if effect(denied, command(one)) != DENY] == []
    assert [one for one in free if effect(denied, command(one))] == []


def test_a_deny_needs_any_part():
    denied = rules("deny Bash(rm:*)", "allow Bash(ls:*)", "allow Bash(rm:*)")

    assert effect(denied, command("ls", "rm x")) == DENY
    assert effect(denied, command("ls")) == ALLOW


def test_an_ask_stands_above_an_allow():
    asked = rules("ask Bash(git push:*)", "allow Bash(git:*)")

    assert effect(asked, command("git push")) == ASK
    assert effect(asked, command("git status")) == ALLOW
    assert effect(asked, command("git status", "git push")) == ASK


def test_a_computed_program_may_be_the_denied_one():
    denied = rules("deny Bash(rm -rf:*)")

    assert effect(denied, command(part(None, "x"))) == ASK
    assert effect(denied, command(part("rm", None))) == ASK
    assert effect(denied, command(part("ls", None))) is None


def test_what_cannot_be_read_may_be_the_denied_command():
    unreadable = command(safety_class=CommandClass.DANGEROUS, rule_matchable=False)

    verdict = rules("deny Bash(rm:*)").judge(unreadable)

    assert verdict.effect.value == ASK
    assert "cannot be parsed" in verdict.reason
    assert effect(rules("allow Bash(rm:*)"), unreadable) is None


def test_a_wrapper_is_bound_by_its_name():
    by_wrapper = command("npm test", programs=("sudo", "npm"))
    by_segment = command("npm test")
    analysis = by_segment.command._replace(segments=(CommandSegment("xargs", "xargs npm test"),))
    by_segment = by_segment._replace(footprint=by_segment.footprint._replace(command=analysis))

    assert effect(rules("deny Bash(sudo:*)"), by_wrapper) == DENY
    assert effect(rules("deny Bash(sudo -u root:*)"), by_wrapper) == ASK
    assert effect(rules("deny Bash(xargs:*)"), by_segment) == DENY


def test_a_program_that_another_starts_is_bound():
    run = command("uv run git push", programs=("uv", "git"))

    assert effect(rules("deny Bash(git push:*)"), run) == DENY
    assert effect(rules("deny Bash(git pull:*)"), run) is None
    assert effect(rules("deny Bash(git push:*)"), command("echo git push")) is None


def test_code_in_a_shells_language_is_a_command():
    code = command("rm x", tool="execute_code")

    assert effect(rules("deny Bash(rm:*)"), code) == DENY
    assert effect(rules("deny run_command"), code) == DENY
    assert effect(rules("deny execute_code"), command("rm x")) is None


def test_no_rules_allow_nothing():
    assert rules().judge(command("ls")) is None
    assert effect(rules("allow Bash(ls)"), command()) is None
