"""The ids of calls, and what they say about agents and conversations."""

import hashlib

import pytest

from handrail.core.call import (
    MAX_CALL_ID,
    ToolCall,
    call_owner,
    check_call_id,
    is_agent_call,
    is_call_id,
    is_owned,
    is_under,
    reader_name,
    safe_call_id,
)
from handrail.core.problems import ProblemRaised


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("value", "valid"),
    [
        ("a", True),
        ("Az0_.:-", True),
        ("a" * MAX_CALL_ID, True),
        ("a" * (MAX_CALL_ID + 1), False),
        ("", False),
        ("a b", False),
        ("é", False),
        ("a\n", False),
        (7, False),
        (None, False),
    ],
)
def test_valid_ids(value, valid):
    assert is_call_id(value) is valid
    if valid:
        assert check_call_id(value) == safe_call_id(value) == value
    else:
        with pytest.raises(ProblemRaised) as caught:
            check_call_id(value)
        assert (caught.value.problem.code, caught.value.problem.field) == (
            "invalid_arguments",
            "id",
        )


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (7, "is a int"),
        ("", "has 0 characters"),
        ("a" * 1_000, "has 1,000 characters"),
        ("a" * MAX_CALL_ID + "b", f"has {MAX_CALL_ID + 1} characters"),
        ("a b", "is 'a b'"),
        (" " * MAX_CALL_ID, "is ' "),
    ],
)
def test_a_problem_says_what_is_wrong_with_an_id(value, words):
    with pytest.raises(ProblemRaised) as caught:
        check_call_id(value)

    assert words in caught.value.problem.message


def test_an_invalid_id_is_replaced_by_its_hash():
    assert safe_call_id("a b") == f"id-{digest('a b')[:32]}"
    assert safe_call_id("a b") != safe_call_id("a c")


@pytest.mark.parametrize(
    ("conversation", "owner"),
    [
        ("main", "main"),
        ("a-b_c", "a-b_c"),
        # The conversation of a subagent.
        ("main.1.2-helper-0123abcd", "main.1.2-helper-0123abcd"),
        ("a.b", f"a-b-{digest('a.b')[:16]}"),
        ("..a..", f"a-{digest('..a..')[:16]}"),
        ("...", f"session-{digest('...')[:16]}"),
        ("é" * 30, f"session-{digest('é' * 30)[:16]}"),
        ("x." + "y" * 40, f"x-{'y' * 22}-{digest('x.' + 'y' * 40)[:16]}"),
    ],
)
def test_the_owner_of_the_calls_of_a_conversation(conversation, owner):
    assert call_owner(conversation) == owner
    assert is_call_id(owner)


@pytest.mark.parametrize(
    ("call_id", "owned", "turn"),
    [
        ("main.3.1", True, 3),
        ("main.3_2-1.1", True, 3),
        ("main.3.1-helper-0123abcd.9.1", True, 3),
        ("main.3.1-plan-1", True, 3),
        ("main.mention-0a", True, 0),
        ("main.3", False, None),
        ("main", False, None),
        ("main.x.1", False, None),
        ("main2.3.1", False, None),
        ("other.3.1", False, None),
        ("main.3.1x", False, None),
    ],
)
def test_calls_of_a_conversation_and_their_turns(call_id, owned, turn):
    assert is_owned(call_id, "main") is owned
    if turn is not None:
        assert is_owned(call_id, "main", turn - 1) is True
        assert is_owned(call_id, "main", turn) is False


@pytest.mark.parametrize(
    ("call_id", "of_agent"),
    [
        ("main.1.2", True),
        ("a.b.1.2", True),
        ("main.1_2-3.4", True),
        ("main.1", False),
        ("1", False),
    ],
)
def test_ids_that_agents_give(call_id, of_agent):
    assert is_agent_call(call_id) is of_agent


@pytest.mark.parametrize(
    ("call_id", "under"),
    [
        ("main.1.2", True),
        ("main.1.2-helper-0123abcd.1.1", True),
        ("main.1.2-plan-1", True),
        ("main.1.22", False),
        ("main.1", False),
        ("x-main.1.2", False),
    ],
)
def test_calls_below_a_call(call_id, under):
    assert is_under(call_id, {"main.1.2"}) is under


def test_who_reads_a_result():
    assert reader_name("main", "") == "main"
    assert reader_name("main", "c") == "main@c"
    assert ToolCall("1", "read", {}, agent="a", conversation="c").reader == "a@c"
