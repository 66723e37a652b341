"""Whether what a call has returned may still be shown, by its record."""

from types import SimpleNamespace

import pytest

from handrail.core.problems import Problem, ProblemRaised
from handrail.engine.recording.stored_results import StoredResults

CALL = SimpleNamespace(id="c1", _replace=lambda **given: None)


class Store:
    """Has the completed parts of the call with one id, newest first; None: it never ended."""

    def __init__(self, *completed):
        self.records = {
            str(at): None if done is None else SimpleNamespace(completed=done, requested={})
            for at, done in enumerate(completed)
        }

    async def calls(self, *, call_id, limit):
        return [SimpleNamespace(session=session) for session in self.records]

    async def find_completed(self, session, call_id):
        return self.records[session]


class Review:
    """Denies calls of which the result is one of these, and perhaps those without a record."""

    def __init__(self, *denied, unrecorded=False, code="denied"):
        self.denied, self.unrecorded, self.code = denied, unrecorded, code

    def check(self, record, caller):
        if record.completed["status"] in self.denied:
            raise ProblemRaised.of(Problem(self.code, "no"))

    def denies_unrecorded(self, call):
        return self.unrecorded


@pytest.mark.parametrize(
    ("store", "review", "denied"),
    [
        (Store({"status": "ok"}), Review("ok"), True),
        (Store({"status": "ok"}), Review(unrecorded=True), False),
        (Store({"status": "ok"}), Review("ok", code="not_found"), False),
        # The newest attempt with a result counts.
        (Store(None, {}, {"status": "ok"}), Review("ok"), True),
        (Store({"status": "ok"}, {"status": "failed"}), Review("failed"), False),
        # Of others nothing is recorded here.
        (Store(), Review("ok", unrecorded=True), True),
        (Store(None, {}), Review("ok", unrecorded=True), True),
        (Store(None, {}), Review("ok"), False),
    ],
)
async def test_a_result_is_denied_by_its_record_or_else_by_the_call(store, review, denied):
    assert await StoredResults("s", store, None, review).denies(CALL) is denied
