"""How a message is assembled from the parts of a stream, and where its limits are."""

import pytest

from handrail.core.ports.models import (
    CallClosed,
    CallDelta,
    CallOpened,
    Finish,
    ModelFailed,
    TextBlock,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    UsageReported,
)
from handrail.models.wires import reader as limits
from handrail.models.wires.reader import CallPiece, RawPiece, StreamReader, TextPiece


class PartsReader(StreamReader):
    """A wire whose message is the number of its parts."""

    wire = "parts"

    def read(self, event):
        return self.take_events()

    def raw_message(self, pieces):
        return len(pieces)


@pytest.fixture
def reader():
    return PartsReader()


def kinds(reader):
    return [type(event) for event in reader.take_events()]


def failure(act, *arguments, **named):
    with pytest.raises(ModelFailed) as caught:
        act(*arguments, **named)
    return caught.value


def test_text_grows_in_one_block_until_another_kind_follows(reader):
    reader.add_text("a")
    reader.add_text("b")
    reader.add_text("c", thinking=True)
    reader.add_text("d", thinking=True, new=True)

    assert [(one.text, one.thinking) for one in reader.pieces] == [
        ("ab", False),
        ("c", True),
        ("d", True),
    ]
    assert reader.take_events() == [
        TextDelta("a"),
        TextDelta("b"),
        ThinkingDelta("c"),
        ThinkingDelta("d"),
    ]
    assert reader.take_events() == []


def test_empty_text_is_nothing_unless_a_block_begins(reader):
    assert reader.add_text("") is None
    assert reader.pieces == []
    assert reader.progress == 0
    assert reader.add_text("", new=True) is reader.pieces[0]
    assert reader.take_events() == []


def test_half_a_letter_waits_for_the_other_half(reader):
    reader.add_text("a\ud83d")
    reader.add_text("\ude00b")

    assert reader.pieces[0].text == "a\U0001f600b"


def test_half_a_letter_stays_alone_when_its_block_ends(reader):
    piece = reader.add_text("a\ud83d")
    reader.close_text(piece)
    assert (piece.closed, piece.text[:1], len(piece.text)) == (True, "a", 2)
    other = reader.add_text("b\ud83d", thinking=True)
    reader.open_call("c", "t")
    assert len(other.text) == 2
    call = reader.open_call("d", "t")
    reader.extend_call(call, "x\ud83d")
    reader.close_call(call)
    assert len(call.arguments_json) == 2


def test_calls_are_reported_in_their_order(reader):
    first, second = reader.open_call("a", "one"), reader.open_call("b", "two")
    reader.extend_call(second, "{}")
    reader.take_events()
    reader.close_call(second)
    assert kinds(reader) == []
    assert reader.open_calls == [first]
    reader.extend_call(first, "{1")
    reader.close_call(first)

    assert reader.take_events() == [
        CallDelta(0, "{1"),
        CallClosed(0, "a", "one", "{1"),
        CallClosed(1, "b", "two", "{}"),
    ]
    reader.close_open_calls()
    assert reader.take_events() == []
    assert list(reader.calls) == [first, second]


def test_a_call_is_announced_with_the_first_part_of_its_name(reader):
    call = reader.open_call("a", "")
    assert kinds(reader) == []
    reader.extend_name(call, "re")
    reader.extend_name(call, "")
    reader.extend_name(call, "ad")

    assert reader.take_events() == [CallOpened(0, "a", "re")]
    assert call.name == "read"
    nameless = reader.open_call("b", "")
    reader.close_call(call)
    reader.close_call(nameless)
    assert kinds(reader) == [CallClosed, CallOpened, CallClosed]


@pytest.mark.parametrize("given", ["", None, 5])
def test_a_call_without_an_id_gets_one(reader, given):
    assert [reader.open_call(given, "t").wire_id for _ in range(2)] == ["call_0", "call_1"]


def test_no_id_is_given_twice(reader):
    ids = [reader.open_call(one, "t").wire_id for one in ("a", "a", "call_3", "a")]

    assert ids == ["a", "call_1", "call_3", "call_3_"]


def test_arguments_after_the_end_of_a_call_are_an_error(reader):
    call = reader.open_call("a", "t")
    reader.close_call(call)

    reader.extend_call(call, "")
    assert failure(reader.extend_call, call, "x").code == "cut"


@pytest.mark.parametrize(
    ("name", "wire_name"),
    [
        ("read_file", "read_file"),
        ("a" * 64, "a" * 64),
        ("a" * 65, "invalid_tool_name"),
        ("", "invalid_tool_name"),
        ("a b", "invalid_tool_name"),
    ],
)
def test_a_name_that_no_provider_takes_is_replaced(name, wire_name):
    assert CallPiece(0, "a", "a", name).wire_name == wire_name


@pytest.mark.parametrize(("text", "value"), [('{"a": 1}', {"a": 1}), ("[1]", {}), ("{", {})])
def test_arguments_that_are_no_object_are_empty_for_the_provider(text, value):
    assert CallPiece(0, "a", "a", "t", [text]).safe_arguments == value


def test_limits(reader, monkeypatch):
    monkeypatch.setattr(limits, "MAX_TEXT_BYTES", 4)
    monkeypatch.setattr(limits, "MAX_ARGUMENT_BYTES", 4)
    monkeypatch.setattr(limits, "MAX_ARGUMENT_BYTES_OF_MESSAGE", 6)
    monkeypatch.setattr(limits, "MAX_CALLS", 2)
    monkeypatch.setattr(limits, "MAX_NAME", 5)

    reader.add_text("aä")
    reader.add_text("b")
    assert failure(reader.add_text, "c").code == "over_limit"
    call, other = reader.open_call("a", "tool"), reader.open_call("b", "tools")
    reader.extend_call(call, "ää")
    assert failure(reader.extend_call, call, "x").code == "over_limit"
    assert failure(reader.extend_call, other, "xxx").code == "over_limit"
    assert failure(reader.open_call, "c", "t").code == "over_limit"
    assert failure(reader.extend_name, call, "xx").code == "over_limit"
    reader.extend_name(call, "x")
    assert call.name == "toolx"


def test_blocks_are_limited(reader, monkeypatch):
    monkeypatch.setattr(limits, "MAX_BLOCKS", 2)
    reader.add_piece(RawPiece({}))
    reader.add_piece(TextPiece())

    assert failure(reader.add_piece, RawPiece({})).code == "over_limit"


def test_what_a_wire_keeps_counts_as_text(reader, monkeypatch):
    monkeypatch.setattr(limits, "MAX_TEXT_BYTES", 4)
    reader.count_raw("")
    assert reader.progress == 0
    reader.count_raw([1])
    assert (reader.progress, reader.size) == (1, 3)
    assert failure(reader.count_raw, "xx").code == "over_limit"


def test_the_size_is_that_of_text_and_arguments(reader):
    reader.add_text("ä")
    reader.extend_call(reader.open_call("a", "t"), "{}")

    assert reader.size == 4


def test_a_stream_without_an_end_is_cut(reader):
    reader.add_text("a")
    error = failure(reader.end)

    assert (error.code, error.retryable, error.partial) == ("cut", True, None)
    reader.open_call("a", "t")
    assert failure(reader.end).partial.blocks == (TextBlock("a"),)


def test_what_is_complete_of_a_message_that_was_cut(reader):
    assert reader.partial() is None
    text = reader.add_text("a")
    assert reader.complete_pieces() == []
    reader.close_text(text)
    assert reader.complete_pieces() == [text]
    call = reader.open_call("a", "t")
    assert reader.complete_pieces() == [text]
    reader.close_call(call)
    assert reader.complete_pieces() == [text, call]
    later = reader.add_text("b")
    assert reader.complete_pieces() == [text, call]
    reader.add_piece(RawPiece({}))
    assert reader.complete_pieces()[2] is later


def test_a_message_has_its_blocks_and_what_its_wire_needs(reader):
    reader.add_text("t", thinking=True)
    reader.add_text("a")
    reader.add_text("", new=True)
    reader.add_piece(RawPiece({"x": 1}))
    done, cut, cut_object = (reader.open_call(one, "t") for one in "abc")
    reader.extend_call(done, "[")
    reader.close_call(done)
    reader.extend_call(cut, '{"a"')
    reader.extend_call(cut_object, '{"a": 1}')
    reader.set_ending({"stop": Finish.CALLS}, "stop")

    made = reader.end()

    assert made.finish is Finish.CALLS
    assert made.message.blocks[:2] == (ThinkingBlock("t"), TextBlock("a"))
    assert [one.arguments_json for one in made.message.calls] == ["[", "{}", '{"a": 1}']
    assert (made.message.raw.wire, made.message.raw.value) == ("parts", 7)


def test_calls_that_did_not_come_are_no_reason_to_end(reader):
    reader.set_ending({"stop": Finish.CALLS}, "stop")

    assert reader.end().finish is Finish.END


@pytest.mark.parametrize(
    ("reason", "finish", "word"),
    [
        ("stop", Finish.END, "stop"),
        ("other", Finish.UNKNOWN, "other"),
        (5, Finish.UNKNOWN, ""),
        (None, Finish.UNKNOWN, ""),
        ("x" * 200, Finish.UNKNOWN, "x" * 100),
    ],
)
def test_why_a_message_ended(reader, reason, finish, word):
    ending = reader.set_ending({"stop": Finish.END}, reason)

    assert (ending.finish, ending.reason) == (finish, word)
    assert reader.ending == ending
    assert reader.progress == 1


def test_a_second_response_is_an_error(reader):
    reader.begin_response("r1")
    assert reader.response_id == "r1"
    assert failure(reader.begin_response, "r2").code == "cut"
    reader.note_response("r3")
    assert reader.response_id == "r1"


@pytest.mark.parametrize("given", ["", None, 5])
def test_an_id_that_is_none_is_not_noted(reader, given):
    reader.note_response(given)

    assert reader.response_id is None


def test_tokens_are_kept_until_others_come(reader):
    reader.report_usage(input=5, output=None)
    reader.report_usage(output=7, cache_read=1, cache_write=2)
    reader.report_usage(input=None)
    reader.report_usage(input=-1, output="x", cache_read=True, cache_write=float("nan"))
    reader.report_usage(input=0, output=10**12)

    last = UsageReported(5, 7, 1, 2)
    assert reader.take_events() == [
        UsageReported(5, 0, 0, 0),
        last,
        last,
        UsageReported(0, 100_000_000, 1, 2),
    ]
