"""Plans against what an agent has read: what is refused, with which words, and what is noted."""

from types import SimpleNamespace

import pytest

from handrail.core.context import ReadRecord, ReadStates
from handrail.core.places import Form, Kind, Place, Stat
from handrail.core.plan import Change, Plan
from handrail.core.problems import Problem, ProblemRaised
from handrail.core.text.content import Content
from handrail.engine.planning.planner import Freshness

PLACE = Place(0, "a", "a", "/place/a", Kind.FILE)
OLD, NEW, OTHERS = Content(b"a\nb\nc\n"), Content(b"a\nb\nC\n"), Content(b"A\nb\nc\n")
HOUR_NS = 3_600_000_000_000
NOW_NS = HOUR_NS + 62_345_678_000


def stat(number, mtime_ns=HOUR_NS):
    return Stat(1, number, 6, mtime_ns, mtime_ns, 0o100644, 1)


def change(before, after=NEW, number=2):
    return Change(PLACE, before, after, stat(number, HOUR_NS + 2_003_999_000))


def read(content, number=1, *, whole=True, limit=3):
    return ReadRecord(1.5, 1, limit, stat(number), whole, content.digest)


@pytest.fixture
def states():
    return ReadStates()


def fresh(states, mode="warn"):
    files = SimpleNamespace(
        stat=lambda place: stat(9), read=lambda place: SimpleNamespace(content=OTHERS)
    )
    return Freshness(mode, states, files, lambda: NOW_NS)


def plan(*changes, relies_on="all"):
    return Plan(changes, "", relies_on=relies_on)


def test_a_file_that_changed_is_refused_with_both_times_and_the_difference(states):
    states.for_agent("main").record_read("/place/a", read(OLD), "a\nb\nc")

    with pytest.raises(ProblemRaised) as raised:
        fresh(states).check(plan(change(OTHERS)), "main")

    problem = raised.value.problem
    when, _, diff = problem.message.partition("\n")
    assert (problem.code, problem.field) == ("stale", "path")
    assert "(read at 00:00:01.500, modified at 01:00:02.003)" in when
    assert diff.splitlines()[2:] == ["@@ -1,2 +1,2 @@", "-a", "+A", " b"]


@pytest.mark.parametrize("mode", ["warn", "strict"])
@pytest.mark.parametrize("number", [1, 2])
def test_a_file_that_is_as_it_was_read_may_be_changed(states, mode, number):
    states.for_agent("main").record_read("/place/a", read(OLD))

    assert fresh(states, mode).check(plan(change(OLD, number=number)), "main") == []


@pytest.mark.parametrize(
    ("mode", "relies_on", "refused"),
    [
        ("off", "all", False),
        ("strict", "nothing", False),
        ("warn", "all", True),
        ("strict", "part", True),
        ("warn", "part", False),
    ],
)
def test_what_a_plan_relies_on_must_be_as_it_was(states, mode, relies_on, refused):
    states.for_agent("main").record_read("/place/a", read(OLD), "a\nb\nc")
    asked = plan(change(OTHERS, Content(b"A\nb\nC\n")), relies_on=relies_on)

    if refused:
        with pytest.raises(ProblemRaised):
            fresh(states, mode).check(asked, "main")
    else:
        notes = fresh(states, mode).check(asked, "main")
        assert len(notes) == (relies_on == "part")


def test_an_unread_file_is_noted_once_and_refused_if_strict(states):
    checks = fresh(states)
    asked = plan(change(OLD), relies_on="part")

    first = checks.check(asked, "main")
    checks.mark_written(asked, "main")

    assert len(first) == 1
    assert checks.check(asked, "main") == []
    assert len(checks.check(asked, "other")) == 1
    with pytest.raises(ProblemRaised) as raised:
        fresh(states, "strict").check(asked, "main")
    assert raised.value.problem.field == "path"


def test_a_new_file_needs_no_reading(states):
    assert fresh(states, "strict").check(plan(Change(PLACE, None, NEW)), "main") == []


@pytest.mark.parametrize("mode", ["warn", "strict"])
def test_a_file_of_which_a_part_was_read_is_not_replaced_in_silence(states, mode):
    states.for_agent("main").record_read("/place/a", read(OLD, whole=False))
    checks = fresh(states, mode)

    assert checks.check(plan(change(OLD), relies_on="part"), "main") == []
    if mode == "warn":
        assert len(checks.check(plan(change(OLD)), "main")) == 1
    else:
        with pytest.raises(ProblemRaised):
            checks.check(plan(change(OLD)), "main")


def test_what_was_written_is_known(states):
    checks, reads = fresh(states, "strict"), states.for_agent("main")

    checks.mark_written(plan(Change(PLACE, None, NEW)), "main")

    assert reads.get("/place/a") == ReadRecord(NOW_NS / 1e9, 1, 0, stat(9), True, NEW.digest)
    assert checks.has_read(PLACE, NEW.digest, "main")
    assert not checks.has_read(PLACE, OLD.digest, "main")
    assert not checks.has_read(PLACE, NEW.digest, "other")
    assert not checks.has_read(PLACE, None, "main")
    checks.mark_written(plan(Change(PLACE, NEW, None)), "main")
    assert reads.get("/place/a") is None


def test_a_link_that_was_written_is_no_file_that_was_read(states):
    made = Change(PLACE, None, NEW, after_form=Form.LINK)

    fresh(states).mark_written(plan(made), "main")

    assert states.for_agent("main").get("/place/a") is None


@pytest.mark.parametrize(
    ("mode", "code", "text", "told"),
    [
        ("warn", "no_match", "a\nb\nc", True),
        ("warn", "ambiguous", "a\nb\nc", True),
        ("strict", "no_match", "a\nb\nc", True),
        ("off", "no_match", "a\nb\nc", False),
        ("warn", "not_found", "a\nb\nc", False),
        ("warn", "no_match", "A\nb\nc", False),
    ],
)
def test_a_failed_search_is_explained_by_what_changed(states, mode, code, text, told):
    states.for_agent("main").record_read("/place/a", read(OLD), text)
    problem = Problem(code, "not there")
    checks = fresh(states, mode)

    found = checks.explain(problem, [PLACE], "main")

    assert (found != problem) is told
    assert ("\n-a\n+A" in found.message) is told
    assert checks.explain(problem, [PLACE], "other") == problem
    assert checks.explain(problem, [PLACE._replace(kind=Kind.MISSING)], "main") == problem


@pytest.mark.parametrize(
    ("known", "before", "after", "updated"),
    [
        (OLD, OLD.digest, NEW, True),
        (OLD, NEW.digest, NEW, False),
        (OLD, OLD.digest, None, False),
        (None, OLD.digest, NEW, False),
    ],
)
def test_what_a_hook_changed_is_known_if_the_file_was(states, known, before, after, updated):
    reads = states.for_agent("main")
    if known is not None:
        reads.record_read("/place/a", read(known), "a\nb\nc")

    fresh(states).update_after_hook(PLACE, before, after, stat(4), "main")

    found = reads.get("/place/a")
    if updated:
        assert found == ReadRecord(NOW_NS / 1e9, 1, 3, stat(4), True, NEW.digest)
        assert reads.text("/place/a") == "a\nb\nC"
    else:
        assert found == (None if known is None else read(known))
