"""Whatever is written, undone and redone in whatever order: all of it can be taken back."""

import shutil

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import handrail.sync

PATHS = st.sampled_from(["a", "b", "d/c"])
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), PATHS, st.sampled_from(["", "0", "1", "2", "3"])),
        st.tuples(st.just("delete"), PATHS),
        st.tuples(st.just("turn"), PATHS, PATHS),
        st.tuples(st.just("undo")),
        st.tuples(st.just("undo turn")),
        st.tuples(st.just("undo path"), PATHS),
        st.tuples(st.just("redo")),
        st.tuples(st.just("redo path"), PATHS),
    ),
    max_size=12,
)


def act(rt, name, *values):
    match name:
        case "write":
            return rt.call("write_file", {"path": values[0], "content": values[1]})
        case "delete":
            return rt.call("delete_file", {"path": values[0]})
        case "turn":
            calls = [
                {"name": "write_file", "arguments": {"path": path, "content": f"turn {path}"}}
                for path in values
            ]
            return rt.batch(calls)[-1]
        case "undo path" | "redo path":
            return getattr(rt, name.split()[0])(path=values[0])
        case "undo turn":
            return rt.undo(turn="last")
        case _:
            return getattr(rt, name)()


def tree(root):
    return {
        str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()
    }


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(actions=ACTIONS)
def test_everything_can_be_taken_back_whatever_came_before(tmp_path, actions):
    root = tmp_path / "w"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    (root / "a").write_text("0")
    started = tree(root)

    with handrail.sync.open(
        root, store=":memory:", mode="accept-edits", allow_delete=True, config={"freshness": "off"}
    ) as rt:
        for action in actions:
            before = tree(root)
            result = act(rt, *action)
            assert result.ok or action[0] == "turn" or tree(root) == before, result.text
        now = tree(root)
        undone = rt.undo(since="all")
        if undone.ok:
            assert tree(root) == started
            assert rt.redo().ok
            assert tree(root) == now
        else:
            assert undone.problem.code in ("not_found", "already_applied"), undone.text
            assert now == started
