"""Attocode's document in its vocabulary: coercion, changes and undo, the steps of a call."""

import pytest

SETTINGS = {"dialect": "attocode", "mode": "yolo", "config": {"accept_no_sandbox": True}}


class TestCoercion:
    @pytest.mark.feature("M01", "M03")
    @pytest.mark.parametrize(
        ("given", "recursive"), [("true", 2), ("1", 2), ("false", 1), ("0", 1)]
    )
    def test_texts_become_flags(self, open_walk, given, recursive):
        with open_walk() as walk:
            walk.write("a.ts")
            walk.write("sub/b.ts")
            result = walk.call("list_files", recursive=given)

        assert sum(not path.endswith("/") for path in result.data) == recursive
        assert "recursive" in str(result.meta["coerced"])

    @pytest.mark.feature("M02")
    @pytest.mark.parametrize(("given", "text"), [(42, "42"), (True, "true"), (1.5, "1.5")])
    def test_numbers_and_flags_become_texts(self, walk, given, text):
        assert walk.call("write_file", path="n.txt", content=given).ok
        assert walk.read("n.txt") == text


class TestChanges:
    @pytest.mark.feature("T01")
    def test_a_change_is_recorded_with_call_turn_and_both_contents(self, walk):
        walk.write("t.ts", "one\n")
        with walk.rt.turn() as turn:
            result = walk.call("edit_file", path="t.ts", old_string="one", new_string="two")

        (record,) = walk.rt.store.calls(call_id=result.call_id)
        (change,) = record.intent["changes"]
        assert (record.turn, change["path"], change["operation"]) == (turn, "t.ts", "write")
        assert change["before_hash"] != change["after_hash"]

    @pytest.mark.feature("T02", "T03", "E58", "E59")
    def test_a_file_and_a_turn_are_undone(self, walk):
        walk.write("u.ts", "1\n")
        with walk.rt.turn():
            walk.call("edit_file", path="u.ts", old_string="1", new_string="2")
            walk.call("write_file", path="v.ts", content="v\n")
            assert walk.call("undo_file", path="u.ts").ok
            assert walk.read("u.ts") == "1\n"
            walk.call("edit_file", path="u.ts", old_string="1", new_string="3")
            assert walk.call("undo_turn").ok

        assert walk.read("u.ts") == "1\n"
        assert not (walk.root / "v.ts").exists()

    @pytest.mark.feature("T02")
    def test_what_another_user_changed_since_is_not_lost(self, walk):
        """Decided: an undo that would lose a change of somebody else is refused."""
        walk.call("write_file", path="w.ts", content="ours\n")
        walk.write("w.ts", "theirs\n")

        assert walk.code("undo_file", path="w.ts") == "conflict"
        assert walk.read("w.ts") == "theirs\n"


class TestSteps:
    @pytest.mark.feature("F09", "R-17")
    def test_plan_mode_queues(self, open_walk):
        with open_walk(mode="plan") as walk:
            queued = walk.call("write_file", path="a.ts", content="x\n")
            (item,) = walk.rt.plan_queue.items()
            assert (queued.status, item.tool) == ("planned", "write_file")
            assert not (walk.root / "a.ts").exists()
            walk.rt.plan_queue.approve()
            assert walk.read("a.ts") == "x\n"

    @pytest.mark.feature("F10", "G17")
    def test_rules_allow_and_deny(self, open_walk):
        rules = {"allow": ["write_file(src/**)"], "deny": ["bash(git push:*)"]}
        with open_walk(mode="interactive", answer=False, config={"permissions": rules}) as walk:
            assert walk.call("write_file", path="src/a.ts", content="").ok
            assert walk.code("bash", command="git push origin main") == "denied"
            assert walk.user.asked == []

    @pytest.mark.feature("F11", "R-19")
    @pytest.mark.parametrize(
        ("mode", "asked", "code"),
        [
            ("strict", 0, "denied"),
            ("interactive", 1, None),
            ("auto-safe", 0, None),
            ("yolo", 0, None),
        ],
    )
    def test_modes_by_danger(self, open_walk, mode, asked, code):
        with open_walk(mode=mode, config={"accept_no_sandbox": True}) as walk:
            assert walk.code("write_file", path="a.ts", content="") is None
            assert len(walk.user.asked) == asked
            walk.user.asked.clear()
            result = walk.call("bash", command="frobnicate")
            denied = "denied" if result.status == "refused" else None
            assert denied == code

    @pytest.mark.feature("F12", "Q02")
    def test_a_file_of_another_agent_is_claimed(self, walk):
        walk.rt.call("lock_paths", {"globs": ["claimed.ts"]}, agent="sibling")

        assert walk.code("write_file", path="claimed.ts", content="") == "conflict"

    @pytest.mark.feature("F13", "T04", "F15", "F16", "T05")
    def test_a_read_after_a_write_sees_it_and_a_change_is_an_event(self, walk):
        walk.write("f.ts", "1\n")
        assert walk.call("read_file", path="f.ts").text == "1"
        walk.events.clear()
        walk.call("write_file", path="f.ts", content="2\n")
        assert walk.call("read_file", path="f.ts").text == "2"

        (changed,) = [event for event in walk.events if event.type == "file_changed"]
        assert (changed.path, changed.operation) == ("f.ts", "write")

    @pytest.mark.feature("F17", "R-18")
    def test_a_new_fault_of_syntax_is_reported(self, walk):
        result = walk.call("write_file", path="bad.py", content="def f(:\n")

        assert result.ok
        assert [one["line"] for one in result.meta["syntax"]] == [1]
