"""What an agent has seen of files, and what a call knows of its session."""

import threading
from types import SimpleNamespace

import pytest

from handrail.core import context
from handrail.core.call import MAIN_AGENT, ToolCall
from handrail.core.context import (
    CancelSignal,
    ReadRecord,
    ReadState,
    ReadStates,
    Session,
    ToolContext,
    WorkingDirectory,
    current_reads,
    is_unchanged,
    record_shown,
    set_working_directory,
)
from handrail.core.places import Kind, Place, Stat
from handrail.core.problems import ProblemRaised
from handrail.core.results import FileRead
from handrail.core.text.content import Content

STAT = Stat(1, 2, 3, 4, 5, 0o100644, 1)


def record(digest="d1", whole=False, stat=STAT):
    return ReadRecord(1.0, 1, 10, stat, whole, digest)


class OneFile:
    """Files with one file, or none."""

    def __init__(self, data=b"text\n", stat=STAT, kind=Kind.FILE, missing=False):
        self.data, self.state, self.kind, self.missing = data, stat, kind, missing
        self.reads = 0

    def locate(self, path):
        if self.missing:
            raise ProblemRaised("not_found", "no")
        return Place(0, "a", "a", f"/w/{path}", self.kind)

    def stat(self, place):
        return self.state

    def read(self, place, max_bytes=None):
        self.reads += 1
        if max_bytes is not None and len(self.data) > max_bytes:
            raise ProblemRaised("too_large", "no")
        return SimpleNamespace(content=Content(self.data), stat=self.state)


def test_texts_are_kept_while_the_content_is_the_same():
    state = ReadState()
    state.record_read("/a", record(), "one")
    state.record_read("/a", record(), "two")
    state.record_read("/a", record(), "one")

    assert state.texts("/a") == ("one", "two")
    assert state.text("/a") is None
    state.record_read("/a", record("d2"), "three")
    assert state.texts("/a") == ("three",)
    state.record_read("/a", record("d2"))
    assert state.texts("/a") == ("three",)
    state.record_read("/a", record("d3"))
    assert state.texts("/a") == ()
    assert state.texts("/b") == ()


def test_a_whole_text_replaces_the_others():
    state = ReadState()
    state.record_read("/a", record(), "part")
    state.record_read("/a", record(whole=True), "all")

    assert state.texts("/a") == ("all",)
    assert state.text("/a") == "all"
    state.record_read("/a", record("d2", whole=True), "all")
    assert state.text("/a") == "all"
    assert state.text("/b") is None


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        (record(None), record(None), True),
        (record(None), record("d1"), True),
        (record(None, stat=STAT._replace(settled=False)), record(None), False),
        (record(None), record(None, stat=STAT._replace(size=9)), False),
        (record("d1"), record("d1", stat=STAT._replace(size=9)), True),
        (record("d1"), record("d2"), False),
    ],
)
def test_equal_content_is_known_by_its_hash_or_a_settled_stat(old, new, same):
    state = ReadState()
    state.record_read("/a", old, "one")
    state.record_read("/a", new, "two")

    assert state.texts("/a") == (("one", "two") if same else ("two",))


def test_the_oldest_texts_go_when_there_is_no_room(monkeypatch):
    monkeypatch.setattr(context, "_ALL_TEXT_BYTES", 10)
    state = ReadState()
    state.record_read("/a", record(), "12345")
    state.record_read("/b", record(), "67890")
    assert (state.texts("/a"), state.texts("/b")) == (("12345",), ("67890",))
    # The same text again makes it the newest one.
    state.record_read("/a", record("d2"), "12345")
    state.record_read("/c", record(), "x")

    assert (state.texts("/a"), state.texts("/b"), state.texts("/c")) == (("12345",), (), ("x",))
    state.forget("/a")
    state.record_read("/d", record(), "123456789")
    assert (state.texts("/c"), state.texts("/d")) == (("x",), ("123456789",))


def test_long_texts_and_many_texts_are_not_kept(monkeypatch):
    monkeypatch.setattr(context, "_TEXT_BYTES", 5)
    monkeypatch.setattr(context, "_TEXTS_PER_FILE", 2)
    state = ReadState()
    state.add_text("/a", "123456")
    assert state.texts("/a") == ()
    for text in ("12345", "b", "b", "c"):
        state.add_text("/a", text)

    assert state.texts("/a") == ("b", "c")


def test_what_was_forgotten_is_not_known():
    state = ReadState()
    state.record_read("/a", record(whole=True), "x")
    state.forget("/a")
    state.forget("/a")

    assert (state.get("/a"), state.texts("/a"), state.forgot_secrets) == (None, (), False)
    assert state.outside_calls == {"/a": None}
    state.forget("/w/.env")
    assert not state.forgot_secrets
    state.record_read("/w/.env", record())
    state.forget("/w/.env")
    assert state.forgot_secrets
    state.record_read("/b", record())
    state.forget("/b")
    assert state.forgot_secrets


def test_reads_are_noted_for_the_record_of_the_call():
    state, noted = ReadState(), {}
    token = current_reads.set(noted)
    try:
        state.record_read("/a", record())
    finally:
        current_reads.reset(token)

    assert noted == {"/a": record()}
    assert state.outside_calls == {}


def test_a_file_can_be_edited_if_it_was_read_and_is_the_same():
    state = ReadState({"/a": record()}, is_same=lambda absolute, known: absolute == "/a")
    state.record_read("/b", record())

    assert state.can_edit("/a")
    assert not state.can_edit("/b")
    assert not state.can_edit("/c")
    assert [name for name, _ in state.items()] == ["/a", "/b"]


@pytest.mark.parametrize(
    ("known", "files", "same"),
    [
        (record(), OneFile(), True),
        (record(), OneFile(stat=None), False),
        (record(), OneFile(missing=True), False),
        (record(None, stat=STAT._replace(settled=False)), OneFile(), False),
        (record(None), OneFile(stat=STAT._replace(size=9)), False),
        (record("other"), OneFile(stat=STAT._replace(size=9)), False),
        (record(Content(b"text\n").digest), OneFile(stat=STAT._replace(size=9)), True),
    ],
)
def test_whether_a_file_is_unchanged(known, files, same):
    assert is_unchanged(files, "/w/a", known) is same


@pytest.mark.parametrize(
    ("shown", "files", "seen"),
    [
        ("text\n", OneFile(), True),
        ("text", OneFile(), True),
        ("tex", OneFile(), False),
        ("text\n", OneFile(missing=True), False),
        ("x", OneFile(b"\0\x01\xff\0"), False),
        ("x" * 300_000, OneFile(b"x" * 300_000), False),
    ],
)
def test_a_tool_that_showed_a_whole_file_has_read_it(shown, files, seen):
    reads = ReadState()
    record_shown(reads, FileRead("a", shown), files, 3 * 10**9)

    assert (reads.get("/w/a") is not None) is seen
    if seen:
        assert reads.get("/w/a") == ReadRecord(3.0, 1, 0, STAT, True, Content(b"text\n").digest)
        assert reads.text("/w/a") == "text\n"


def test_each_agent_has_its_own_reads():
    first = ReadState({"/a": record()})
    states = ReadStates({"main": first}, is_same=lambda absolute, known: False)

    assert states.for_agent("main") is first
    assert not first.can_edit("/a")
    other = states.for_agent("other")
    other.record_read("/b", record())
    assert not other.can_edit("/b")
    assert states.for_agent("other") is other
    assert [name for name, _ in states.items()] == ["main", "other"]
    assert ReadState({"/a": record()}).can_edit("/a")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (OneFile(kind=Kind.DIRECTORY), "/w/sub"),
        (OneFile(kind=Kind.FILE), "/before"),
        (OneFile(missing=True), "/before"),
    ],
)
def test_only_a_directory_inside_the_roots_is_changed_to(files, expected):
    current = WorkingDirectory("/before")
    set_working_directory(current, "sub", files)

    assert current.directory == expected


def session(**more):
    return Session("s", ("/w", "/x", "/y"), "ask", ReadStates(), artifacts="store", **more)


def test_that_secrets_were_shown_is_kept_once():
    kept = []
    made = session(keep_secrets_shown=lambda: kept.append(1))
    made.note_secrets()
    made.note_secrets()

    assert made.secrets_shown
    assert kept == [1]
    assert made.reads is made.read_states.for_agent(MAIN_AGENT)


def test_what_a_call_knows():
    own = session(conversations={"c": lambda: ["hello"]})
    places = {
        name: Place(0, name, name, f"/w/{name}", Kind.FILE)
        for name in ("path", "paths[0]", "paths[1].x", "path.y", "pathology", "edits")
    }
    call = ToolCall("c1", "read_file", {}, turn=4, agent="helper", conversation="c")
    ctx = ToolContext(call, own, report=print, signal=CancelSignal(), places=places)
    plain = ToolContext(call._replace(conversation=""), own, report=print, signal=CancelSignal())

    assert [one.rel for one in ctx.list_places("path")] == ["path", "path.y"]
    assert [one.rel for one in ctx.list_places("paths")] == ["paths[0]", "paths[1].x"]
    assert ctx.list_places("other") == []
    assert (list(ctx.messages), list(plain.messages)) == (["hello"], [])
    assert (ctx.call_id, ctx.turn_id, ctx.agent_id) == ("c1", 4, "helper")
    assert (ctx.cwd, ctx.additional_directories) == ("/w", ("/x", "/y"))
    assert ctx.reads is own.read_states.for_agent("helper@c")
    assert plain.reads is own.read_states.for_agent("helper")
    assert ctx.artifacts == "store"
    assert ctx.options is own.options
    assert ctx.mcp_clients is own.options.mcp_clients


def test_a_cancelled_call_is_told():
    signal = CancelSignal()
    signal.raise_if_cancelled()
    assert signal.wait(0) is False
    waiter = threading.Thread(target=signal.wait, args=(30,))
    waiter.start()
    signal.set()
    waiter.join(10)

    assert not waiter.is_alive()
    assert signal.wait(0) is True
    with pytest.raises(ProblemRaised) as raised:
        signal.raise_if_cancelled()
    assert raised.value.problem.code == "cancelled"
    early = CancelSignal()
    early.set()
    assert early.wait(0) is True
