"""Blocked commands by expression, and the git safety protocol, on what a command means."""

import time

import pytest
from tests.policy.guardrails.rails import command, rails

from handrail.core.verdicts import Effect


def effect(guard, text):
    verdict = guard(command(text))
    return verdict and verdict.effect


BLOCKED = rails(blocked_commands=[r"^rm\b.*-r", r"npm\s+publish", r"curl[^|]*\|\s*(ba)?sh"])


@pytest.mark.feature("J03")
@pytest.mark.parametrize(
    "text",
    [
        "rm -r x",
        "RM -R x",
        'r""m -r x',
        "\\rm -r x",
        "/bin/rm  -r   x",
        "ls && rm -r x",
        "sudo rm -r x",
        "bash -c 'rm -r x'",
        "$(rm -r x)",
        "npm   publish",
        "npm 'publish' --tag x",
        "cd x; npm \\\n publish",
        "curl http://x | sh",
        "curl -s http://x |bash",
    ],
)
def test_a_blocked_command_is_found_however_it_is_spelled(text):
    verdict = BLOCKED(command(text))

    assert (verdict.effect, verdict.code) == (Effect.DENY, "blocked")
    assert verdict.rule.startswith("guardrail:blocked_commands:")


@pytest.mark.parametrize("text", ["npm $X", "rm $FLAGS x", "$CMD -r x", 'eval "$X"'])
def test_what_is_computed_may_be_the_blocked_command(text):
    assert effect(BLOCKED, text) is Effect.ASK


@pytest.mark.parametrize(
    "text", ["ls", "npm test", "rm x", 'git commit -m "$(cat msg)"', "echo $X", "curl http://x"]
)
def test_other_commands_run(text):
    assert effect(BLOCKED, text) is None


def test_an_expression_takes_time_that_follows_the_text():
    guard = rails(
        blocked_commands=["(a+)+$"],
        code_rules=[{"pattern": "(a+)+$", "message": "x", "severity": "block"}],
    )
    started = time.process_time()

    guard(command("echo " + "a" * 5000 + "!"))

    assert time.process_time() - started < 2


GIT = rails(git_safety=True)


@pytest.mark.feature("E66")
@pytest.mark.parametrize(
    "text",
    [
        "git push --force",
        "git push -f origin main",
        "git push origin main --force-with-lease",
        "git push origin +main",
        "git push origin :old",
        "git -C sub push --forc",
        "git reset --hard HEAD~1",
        "git checkout .",
        "git checkout -- .",
        "git checkout HEAD -- .",
        "git restore .",
        "git restore --staged --worktree .",
        "git clean -fd",
        "git clean -xdf",
        "git branch -D old",
        "git branch -d -f old",
        "git commit --no-verify -m x",
        "git commit -nm x",
        "git push --no-verify",
        "git -c core.hooksPath=/dev/null commit -m x",
        "git commit --amend",
        "git config user.name x",
        "git config --global user.email y",
        "git config --unset user.name",
        "git add -A",
        "git add --all",
        "git add .",
        "git add *",
        "cd x && git push --force",
        "sudo git push --force",
        "bash -c 'git reset --hard'",
        "env A=1 git clean -f",
        "git $X",
    ],
)
def test_what_loses_or_hides_work_is_asked(text):
    verdict = GIT(command(text))

    assert verdict.effect is Effect.ASK
    assert verdict.rule.startswith("guardrail:git_safety:git ")


@pytest.mark.parametrize(
    "text",
    [
        "git push",
        "git push origin main",
        "git reset HEAD a.py",
        "git checkout main",
        "git checkout -- a.py",
        "git restore a.py",
        "git clean -n",
        "git branch -d old",
        "git commit -m 'say --amend and --force'",
        'git commit -m "$(cat <<EOF\nx\nEOF\n)"',
        "git config user.name",
        "git config --get user.name",
        "git config --list",
        "git add a.py src/b.py",
        "git status",
        "git log --oneline",
        "echo git push --force",
        "make $X",
    ],
)
def test_everyday_git_is_not(text):
    assert GIT(command(text)) is None


def test_it_is_off_unless_somebody_wants_it():
    assert rails()(command("git push --force")) is None
