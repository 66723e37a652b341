"""The history of a session as a model sees it; the stories are in tests/spec/test_undo_scopes.py."""

from types import SimpleNamespace

from handrail.core.lazy import Lazy
from handrail.core.ports.undo import UndoableChange
from handrail.tools.session.show_changes import ShowChanges, ShowChangesParams


class History:
    """A past with one change that was undone and one that is perhaps somebody else's."""

    async def changes(self, session, *, path=None, limit=100):
        self.asked = (session, path, limit)
        return [
            UndoableChange(
                "b\nc", "write", session, 2, "c2", "run_command", 0, True, False, "0", "1"
            ),
            UndoableChange(
                "a", "create", session, 1, "c1", "write_file", 10**9, False, True, None, "1"
            ),
        ]


async def test_every_change_is_a_line_with_the_id_that_undo_takes():
    past = History()
    context = SimpleNamespace(
        session=SimpleNamespace(id="mine"), places={"path": SimpleNamespace(path="a")}
    )

    output = await ShowChanges(Lazy(lambda: past)).run(
        ShowChangesParams(path="./a", limit=2), context
    )

    assert past.asked == ("mine", "a", 2)
    assert output.text == (
        "turn 2  c2  run_command  write 'b\\nc', perhaps by somebody else\n"
        "turn 1  c1  write_file  create a, undone"
    )
    assert output.data["changes"][1] == {
        "path": "a",
        "operation": "create",
        "call_id": "c1",
        "tool": "write_file",
        "turn": 1,
        "at": "1970-01-01T00:00:01+00:00",
        "standing": False,
        "attributed": True,
    }


def test_it_only_reads():
    assert ShowChanges(Lazy(History)).only_reads
