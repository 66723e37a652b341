"""A conversation with a store of its own: what is kept, cut off, copied and sent."""

import json

import pytest

from handrail.agent.conversation import ContextSize, Conversation, ConversationSetup
from handrail.agent.estimate import message_tokens
from handrail.agent.projection import CompactionRecord
from handrail.core.ports.models import Message, SystemPart, TextBlock

SETUP = ConversationSetup("m", "main", "r1", (SystemPart("s", True),), ({"name": "t"},))


class States:
    """The part of a store that a conversation writes to."""

    def __init__(self):
        self.saved = {}
        self.flushed = 0

    def save_state(self, session, key, value):
        self.saved[session, key] = json.loads(value)

    async def flush(self):
        self.flushed += 1


def said(role, text):
    return Message(role, (TextBlock(text),))


def talk(turns=3, store=None, **options):
    """A conversation in which each turn has a message of the user and an answer."""
    made = Conversation("c1", store or States(), **options)
    for turn in range(turns):
        made.append(said("user", f"q{turn + 1}"), turn)
        made.append(said("assistant", f"a{turn + 1}"), turn + 1, (("p", f"c1.{turn + 1}.1"),))
    return made


def texts(conversation):
    return [message.text for message in conversation.messages]


def test_every_message_is_stored_under_its_number():
    store = States()
    talk(1, store)
    keys = [key for _, key in store.saved]
    assert keys == ["00000000", "00000001"]
    first, second = store.saved.values()
    assert (first["turn"], "call_ids" in first) == (0, False)
    assert (second["turn"], second["call_ids"]) == (1, [["p", "c1.1.1"]])


def test_numbers_about_a_conversation():
    empty, three = Conversation("c1", States()), talk()
    assert (empty.turn, empty.turn_count, empty.user_texts, empty.model) == (0, 0, (), "")
    assert (three.turn, three.turn_count, three.user_texts) == (3, 3, ("q1", "q2", "q3"))
    assert (empty.has_new_text, three.has_new_text) == (False, True)
    quiet = Conversation("c1", States())
    quiet.append(said("assistant", "a"), 1)
    assert quiet.has_new_text is False


def test_a_value_that_is_the_same_is_not_stored_again():
    store = States()
    conversation = Conversation("c1", store)
    conversation.update(title="a")
    store.saved.clear()
    conversation.update(title="a")
    assert store.saved == {}
    conversation.update(title="a", unfinished=True)
    assert [key for _, key in store.saved] == ["state"]
    assert conversation.state == {"title": "a", "unfinished": True}


def test_the_model_it_was_sent_to():
    conversation = Conversation("c1", States())
    assert conversation.was_sent_to("m")
    conversation.begin(SETUP)
    assert (conversation.model, conversation.was_sent_to("m")) == ("m", True)
    assert not conversation.was_sent_to("n")
    conversation.note_sent("n")
    assert (conversation.model, conversation.was_sent_to("n")) == ("n", True)
    conversation.note_unsent()
    assert not conversation.was_sent_to("n")
    conversation.note_sent("n")
    assert conversation.was_sent_to("n")


def test_sessions_are_kept_in_order_and_limited():
    conversation = Conversation("c1", States())
    assert conversation.sessions == []
    conversation.begin(SETUP)
    assert conversation.note_session("r1") == []
    assert conversation.note_session("r2") == ["r1"]
    assert conversation.note_session("r1") == ["r2"]
    assert conversation.sessions == ["r1", "r2"]
    for number in range(120):
        conversation.note_session(f"s{number}")
    assert len(conversation.state["sessions"]) == 100


def test_a_size_belongs_to_its_model():
    conversation = Conversation("c1", States())
    assert conversation.kept_size("m") == ContextSize("m")
    conversation.keep_size(ContextSize("m", 1.5, 9))
    assert conversation.kept_size("m") == ContextSize("m", 1.5, 9)
    assert conversation.kept_size("n") == ContextSize("n")


def test_the_newest_part_that_fits():
    conversation = Conversation("c1", States())
    for turn in range(3):
        conversation.append(said("user", "x" * 400), turn)
    size = int(message_tokens(conversation.messages[0]))
    limits = [0, size - 1, size, 2 * size - 1, 2 * size, 3 * size - 1, 3 * size]
    assert [conversation.newest_from(limit) for limit in limits] == [3, 3, 2, 2, 1, 1, 0]
    assert Conversation("c1", States()).newest_from(0) == 0


@pytest.mark.parametrize(
    ("turn", "left"),
    [(0, []), (1, ["q1", "a1"]), (2, ["q1", "a1", "q2", "a2"]), (3, None), (4, None)],
)
def test_later_turns_are_cut_off(turn, left):
    conversation = talk()
    conversation.update(tasks=[0, 1, 2], title="first")
    conversation.cut(turn)
    assert texts(conversation) == (["q1", "a1", "q2", "a2", "q3", "a3"] if left is None else left)
    assert conversation.state["title"] == ("" if turn == 0 else "first")
    if left is None:
        assert "cuts" not in conversation.state
        return
    assert conversation.state["cuts"] == [[len(left), 6]]
    assert conversation.task_turns == [task for task in (0, 1, 2) if task < turn]
    conversation.append(said("user", "again"), turn)
    assert conversation.numbers[-1] == 6


def test_ids_after_a_cut_are_new():
    conversation = talk()
    assert conversation.call_prefix(3) == "c1.3"
    conversation.cut(1)
    assert conversation.call_prefix(2) == "c1.2_1"
    conversation.append(said("assistant", "b"), 2)
    conversation.cut(1)
    assert conversation.call_prefix(2) == "c1.2_2"


def test_prefixes_of_a_continued_conversation():
    conversation = talk()
    conversation.continue_under("c1")
    assert conversation.prefixes == []
    conversation.continue_under("x.1.1")
    conversation.continue_under("x.1.1")
    assert conversation.prefixes == [(3, "x.1.1")]
    assert conversation.call_prefix(4) == "x.1.1.4"
    assert [conversation.has_call(one) for one in ("c1.2.1", "x.1.1.4.1", "c12.1", "y.1")] == [
        True,
        True,
        False,
        False,
    ]
    conversation.cut(3)
    assert conversation.prefixes == []


@pytest.mark.parametrize(
    ("record", "turn", "left"),
    [
        (CompactionRecord(2, until=2, summary="s"), 1, 2),
        (CompactionRecord(4, until=2, summary="s"), 1, 2),
        (CompactionRecord(4, until=4, summary="s"), 1, None),
    ],
)
def test_a_compaction_is_kept_if_its_summary_is_still_covered(record, turn, left):
    conversation = talk()
    conversation.note_sent("m")
    conversation.compact(record)
    conversation.cut(turn)
    found = conversation.compaction
    assert (None if found is None else found.entries) == left
    assert conversation.was_sent_to("m") is (left is not None)


@pytest.mark.parametrize(
    ("record", "covered"),
    [
        (None, None),
        (CompactionRecord(4), None),
        (CompactionRecord(6, frozenset({"x"}), frozenset({"y"}), until=1, summary="s"), 4),
        (CompactionRecord(3, until=3, summary="s"), 3),
        (CompactionRecord(4, until=4, summary="s"), 4),
        (CompactionRecord(5, until=5, summary="s"), None),
    ],
)
def test_a_copy_has_the_summary_if_it_covers_it(record, covered):
    conversation = talk()
    conversation.begin(SETUP)
    conversation.compact(record)
    copy = conversation.copy_to("c2", 2)
    assert (copy.id, texts(copy)) == ("c2", ["q1", "a1", "q2", "a2"])
    assert [entry.call_ids for entry in copy.entries] == [
        entry.call_ids for entry in conversation.entries[:4]
    ]
    assert not copy.was_sent_to("m")
    found = copy.compaction
    assert (None if found is None else found.entries) == covered
    if found is not None:
        assert (found.replaced, found.folded, found.summary) == (frozenset(), frozenset(), "s")


def test_a_copy_in_another_store_begins_anew():
    conversation, other = talk(), States()
    assert conversation.copy_to("c2", 1).setup is None
    conversation.begin(SETUP)
    here, there = conversation.copy_to("c2", 1), conversation.copy_to("c2", 1, other)
    assert (here.setup, here.store) == (SETUP, conversation.store)
    assert (there.setup, there.store) == (None, other)


def test_two_states_of_a_conversation_are_compared():
    assert talk().matches(talk())
    assert not talk().matches(talk(2))
    changed = [talk() for _ in range(3)]
    changed[0].update(title="x")
    changed[1].compact(CompactionRecord(2))
    changed[2].begin(SETUP)
    assert not any(one.matches(talk()) for one in changed)


def test_what_is_sent_after_a_compaction():
    conversation = talk()
    assert conversation.sent_messages == conversation.messages
    record = CompactionRecord(4, until=2, summary="so far")
    expected = conversation.project(record)
    conversation.compact(record)
    assert conversation.sent_messages == expected == conversation.sent_messages
    assert [one.text for one in expected[-4:]] == ["q2", "a2", "q3", "a3"]
    assert "so far" in expected[0].text
    conversation.compact(None)
    assert conversation.sent_messages == conversation.messages


async def test_a_flush_is_that_of_the_store():
    conversation = talk()
    await conversation.flush()
    assert conversation.store.flushed == 1
