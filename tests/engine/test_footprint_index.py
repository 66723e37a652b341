"""The index says of any footprints what comparing every pair of them says, and its work per
footprint does not grow with their number.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.counting import count_calls

from handrail.core.footprint import Access, Footprint, Touch
from handrail.engine.batch.footprint_index import Waves, find_conflicts
from handrail.engine.batch.locks import FootprintQueue
from handrail.engine.batch.scheduler import order

PATHS = ["", "/", "/w", "/w/", "/w/a", "/w/a/b", "/w/ab", "/w/a/b/c", "/v", "x", "x/y", "w"]
KEYS = [f"{kind}:{path}" for kind in ("file", "tree") for path in PATHS]
KEYS += ["session:todo", "session:/w/a", "net:host", "job:1", "plain"]

touches = st.builds(Touch, st.sampled_from(KEYS), st.sampled_from(Access))
footprints = st.builds(
    Footprint,
    touches=st.lists(touches, max_size=3).map(tuple),
    open_ended=st.sampled_from([False, False, False, True]),
    alone=st.sampled_from([False] * 9 + [True]),
)


def pairwise_conflicts(found):
    return [
        tuple(index for index in range(later) if found[index].conflicts_with(footprint))
        for later, footprint in enumerate(found)
    ]


@pytest.mark.finding("F70")
@settings(max_examples=200, deadline=None)
@given(st.lists(footprints, max_size=12))
def test_the_index_finds_the_conflicts_that_pairs_have(found):
    waits = pairwise_conflicts(found)
    waves = Waves()
    numbers = [waves.add(one) for one in found]

    assert find_conflicts(found) == waits
    assert numbers == [
        1 + max((numbers[earlier] for earlier in waits[at]), default=-1) for at in range(len(found))
    ]
    ids = [str(at) for at in range(len(found))]
    assert order(ids, found).groups == tuple(
        tuple(name for name, wave in zip(ids, numbers, strict=True) if wave == level)
        for level in range(max(numbers, default=-1) + 1)
    )


class Model:
    """The queue as its definition says it: a ticket waits for all earlier conflicting ones."""

    def __init__(self):
        self.inside = {}

    def enter(self, name, footprint, around):
        self.inside[name] = (
            footprint,
            {
                other
                for other, (theirs, _) in self.inside.items()
                if other not in around and theirs.conflicts_with(footprint)
            },
        )

    def leave(self, name):
        del self.inside[name]
        for _, blockers in self.inside.values():
            blockers.discard(name)

    def ready(self):
        return {name for name, (_, blockers) in self.inside.items() if not blockers}


@pytest.mark.finding("F70")
@settings(max_examples=200, deadline=None)
@given(st.data())
def test_the_queue_lets_through_whom_its_definition_lets_through(data):
    queue, model = FootprintQueue(), Model()
    inside, told = {}, set()
    for name in range(data.draw(st.integers(1, 14))):
        if inside and data.draw(st.booleans()):
            gone = data.draw(st.sampled_from(sorted(inside)))
            queue.leave(inside.pop(gone))
            model.leave(gone)
            told.discard(gone)
        footprint = data.draw(footprints)
        nested = data.draw(st.sampled_from([False, False, True])) and inside
        around = [data.draw(st.sampled_from(sorted(inside)))] if nested else []
        inside[name] = queue.enter(
            footprint,
            [inside[one] for one in around],
            on_ready=lambda ticket: told.add(ticket.number),
        )
        model.enter(name, footprint, around)
        if inside[name].ready:
            told.add(name)

        assert {one for one, ticket in inside.items() if ticket.ready} == model.ready() == told
    for name in list(inside):
        queue.leave(inside.pop(name))
        model.leave(name)
        assert {one for one, ticket in inside.items() if ticket.ready} == model.ready()
    assert queue._lanes == {}


def mix(count):
    """Reads and writes of the same and of other files, reads of folders, and open ends."""
    kinds = [
        lambda at: Touch(f"file:/w/project/src/pkg{at % 50}/file{at}.py", Access.READ),
        lambda at: Touch(f"file:/w/project/src/pkg{at % 50}/file{at}.py", Access.WRITE),
        lambda at: Touch("file:/w/project/notes.md", Access.WRITE),
        lambda at: Touch("file:/w/project/notes.md", Access.READ),
        lambda at: Touch(f"tree:/w/project/src/pkg{at % 50}", Access.READ),
        lambda at: Touch("tree:/w/project", Access.READ),
        lambda at: Touch("session:todo", Access.WRITE),
    ]
    return [
        Footprint(open_ended=True) if at % 20 == 19 else Footprint((kinds[at % len(kinds)](at),))
        for at in range(count)
    ]


def steps(work):
    """How many functions some work calls, our own and built-in ones."""
    with count_calls() as count:
        work()
    return count.calls


def pass_through(found):
    queue = FootprintQueue()
    tickets = [queue.enter(one) for one in found]
    for ticket in tickets:
        queue.leave(ticket)


def find_groups(found):
    waves = Waves()
    for one in found:
        waves.add(one)


MIXES = {
    "everything": mix,
    "reads": lambda count: [
        Footprint((Touch(f"file:/w/{at}", Access.READ),)) for at in range(count)
    ],
    "one file": lambda count: [Footprint((Touch("file:/w/a", Access.WRITE),))] * count,
    "open ends": lambda count: [Footprint(open_ended=True)] * count,
    "read and write": lambda count: [
        Footprint((Touch("tree:/w", Access.READ if at % 2 else Access.WRITE),))
        for at in range(count)
    ],
}


@pytest.mark.finding("F70")
@pytest.mark.parametrize("work", [pass_through, find_groups])
@pytest.mark.parametrize("kind", MIXES)
def test_the_work_per_call_is_the_same_for_five_thousand_calls_as_for_a_hundred(work, kind):
    few, many = MIXES[kind](100), MIXES[kind](5_000)
    work(many)

    per_call = steps(lambda: work(few)) / 100
    assert steps(lambda: work(many)) / 5_000 <= 1.3 * per_call
