"""Limits are kept by what really happens: by resolved name, from the diff, on success."""

import pytest
from tests.policy.guardrails.rails import ROOT, change, command, edit, rails

from handrail.core.verdicts import Effect
from handrail.policy.guardrails.limits import Ledger, QuotaOutcome
from handrail.policy.guardrails.settings import Limits


def do(guard, subject, call_id="1", ended=QuotaOutcome.DONE):
    """One call from clearance to its end; the verdict, None if it happened."""
    verdict = guard(subject) or guard.reserve(call_id, subject)
    if verdict is None:
        guard.settle(call_id, ended)
    return verdict


def lines(count, start=0):
    return "".join(f"line {number}\n" for number in range(start, start + count))


@pytest.mark.feature("J04")
def test_lines_are_counted_from_the_diff():
    guard = rails(max_lines_changed=5)

    assert do(guard, edit(change("a", lines(100), lines(100).replace("line 7\n", "x\n")))) is None
    assert do(guard, edit(change("a", lines(100), lines(103)))) is None
    verdict = do(guard, edit(change("a", lines(100), lines(101))))

    assert (verdict.effect, verdict.code) == (Effect.DENY, "blocked")
    assert "6" in verdict.reason


def test_files_are_counted_by_where_they_lie_and_once():
    guard = rails(max_files_modified=2)

    for _ in range(3):
        assert do(guard, edit(change("a", "x", "y"))) is None
    assert do(guard, edit(change("a", "x", None))) is None
    assert do(guard, edit(change("a", None, "x"))) is None
    assert do(guard, edit(change("b", "x", "y"))) is None
    assert do(guard, edit(change("c", "x", "y"))).effect is Effect.DENY
    assert do(guard, edit(change("a", "x", "z"))) is None


def test_deleting_and_making_anew_costs_both_times():
    guard = rails(max_lines_changed=10)

    assert do(guard, edit(change("a", lines(5), None))) is None
    assert do(guard, edit(change("a", None, lines(5)))) is None
    assert do(guard, edit(change("a", lines(5), lines(6)))).effect is Effect.DENY


def test_what_did_not_happen_is_not_counted():
    guard = rails(max_files_modified=1)
    blocked = edit(change("a", "x", "y"), change("b", "x", "y"))

    assert do(guard, blocked).effect is Effect.DENY
    assert do(guard, edit(change("a", "x", "y")), ended=QuotaOutcome.NOTHING) is None
    assert do(guard, edit(change("b", "x", "y"))) is None


def test_calls_side_by_side_cannot_pass_a_limit_together():
    guard = rails(max_files_modified=2, max_commands_executed=1)
    subjects = {name: edit(change(name, "x", "y")) for name in "abc"}
    cleared = [guard(subject) for subject in subjects.values()]

    reserved = [guard.reserve(name, subject) for name, subject in subjects.items()]

    assert cleared == [None, None, None]
    assert [one and one.effect for one in reserved] == [None, None, Effect.DENY]
    guard.settle("a", QuotaOutcome.NOTHING)
    assert guard.reserve("c", subjects["c"]) is None
    assert guard.reserve("x", command("ls")) is None
    assert guard.reserve("y", command("ls")).effect is Effect.DENY


def test_a_plan_that_was_made_anew_takes_the_place_of_the_old_one():
    guard = rails(max_lines_changed=4)
    guard.reserve("1", edit(change("a", None, lines(4))))

    assert guard.reserve("1", edit(change("a", None, lines(3)))) is None
    guard.settle("1", QuotaOutcome.DONE)
    assert do(guard, edit(change("a", lines(3), lines(4)))) is None


def test_zero_allows_nothing():
    guard = rails(max_files_modified=0, max_lines_changed=0, max_commands_executed=0)

    assert guard(edit(change("a", "x", "y"))).effect is Effect.DENY
    assert guard(command("ls")).effect is Effect.DENY
    assert guard(edit()) is None


def test_a_command_counts_once_it_was_started_however_it_ended():
    guard = rails(max_commands_executed=2)

    assert do(guard, command("ls"), ended=QuotaOutcome.NOTHING) is None
    assert do(guard, command("ls"), ended=QuotaOutcome.FAILED) is None
    assert do(guard, command("ls")) is None
    assert do(guard, command("ls")).effect is Effect.DENY


def test_files_that_a_command_says_it_writes_count_by_one_name():
    guard = rails(max_files_modified=2)

    assert do(guard, command("sed -i s/a/b/ one.txt ./one.txt")) is None
    assert do(guard, command("cp x two.txt")) is None
    assert do(guard, edit(change("one.txt", "x", "y"))) is None
    assert do(guard, command("echo x > three.txt")).effect is Effect.DENY
    assert do(guard, command("echo x > /dev/null")) is None


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ({"max_lines_changed": 9}, "sed -i s/a/b/ x"),
        ({"max_lines_changed": 9}, "cat > x <<'EOF'\na\nEOF"),
        ({"max_lines_changed": 9}, "patch -p1 < x.diff"),
        ({"max_lines_changed": 9}, "git apply x.diff"),
        ({"max_files_modified": 9}, "rm -rf src"),
        ({"max_files_modified": 9}, "sed -i s/a/b/ *.py"),
    ],
)
def test_what_cannot_be_counted_is_asked(limits, text):
    assert rails(**limits)(command(text)).effect is Effect.ASK


@pytest.mark.parametrize("text", ["make", "git commit -m x", "ls > /tmp/x", "cat a"])
def test_what_changes_nothing_that_is_known_is_not(text):
    assert rails(max_lines_changed=9, max_files_modified=9)(command(text)) is None


def test_the_counts_of_a_session_can_be_kept():
    first = rails(max_files_modified=2, require_test_after_edit=True)
    do(first, edit(change("a", "x", "y"), change("b", "x", "y")))
    second = rails(max_files_modified=2, require_test_after_edit=True)

    second.ledger.restore(first.ledger.save())

    assert do(second, edit(change("c", "x", "y"))).effect is Effect.DENY
    assert second.ledger.untested == {f"{ROOT}/a", f"{ROOT}/b"}


def test_links_to_one_file_are_one_file():
    places = {f"{ROOT}/link": f"{ROOT}/real"}
    ledger = Ledger(Limits(files=1), (ROOT,), lambda path: places.get(path, path))

    assert ledger.reserve("1", command("echo x > real")) is None
    assert ledger.reserve("2", command("echo x > link")) is None
    assert ledger.reserve("3", command("echo x > other")).effect is Effect.DENY


# --- tests after edits ----------------------------------------------------------------


def test_untested_changes_cannot_be_committed():
    guard = rails(require_test_after_edit=True)
    commit = command("cd x && git -C y commit -m z")

    assert guard(commit) is None
    do(guard, edit(change("a.py", "x", "y")))
    untested = guard(commit)
    do(guard, command("pytest"), ended=QuotaOutcome.FAILED)
    failed = guard(commit)
    do(guard, command("pytest | tail"))
    piped = guard(commit)
    do(guard, command("pytest"))

    for verdict in (untested, failed, piped):
        assert (verdict.effect, verdict.code) == (Effect.DENY, "blocked")
    assert guard(commit) is None
    assert guard(command("git status")) is None


def test_a_command_that_writes_is_a_change_too():
    guard = rails(require_test_after_edit=True)
    do(guard, command("sed -i s/a/b/ a.py"))

    assert guard(command("git push")).effect is Effect.DENY
    assert guard(command("git $X")).effect is Effect.ASK


def test_the_model_is_told_once_that_tests_are_due():
    guard = rails(require_test_after_edit=True)
    first = edit(change("a.py", "x", "y"))

    told = guard.warnings(first)
    do(guard, first)

    assert len(told) == 1
    assert "untested" in told[0]
    assert guard.warnings(edit(change("b.py", "x", "y"))) == []


def test_what_the_person_runs_is_noticed_and_not_counted():
    guard = rails(require_test_after_edit=True, max_commands_executed=0)
    do(guard, edit(change("a.py", "x", "y")))
    tests = command("pytest")

    assert guard.reserve("1", tests, counted=False) is None
    guard.settle("1", QuotaOutcome.DONE)

    assert guard.ledger.untested == frozenset()
