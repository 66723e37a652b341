"""Approval requests and replies as other processes exchange them."""

import dataclasses
import json

import pytest

from handrail.core.approval import Answer, ApprovalRequest, Reply, caller_config_line, config_line
from handrail.core.names.caller_words import CallerWords, current_words
from handrail.core.verdicts import Risk

REQUEST = ApprovalRequest(
    call_id="c1",
    tool="write_file",
    action="write a.txt",
    reason="a rule asks",
    risk=Risk.MODERATE,
    preview="+a",
    binding="b1",
)
ANSWER = {"v": 1, "answer": "yes", "binding": "b1"}


@pytest.mark.parametrize(
    ("answer", "refuses"),
    [(Answer.YES, False), (Answer.ALWAYS, False), (Answer.NO, True), (Answer.ABORT, True)],
)
def test_which_answers_refuse(answer, refuses):
    assert Reply(answer, "terminal").refuses is refuses


@pytest.mark.parametrize("answer", list(Answer))
def test_a_reply_is_read_back(answer):
    reply = Reply(answer, "approvals", "kim", "not now")

    assert Reply.from_dict({**reply.to_dict(), "binding": "b1"}, "b1", "other") == reply


@pytest.mark.parametrize(
    "given",
    [
        {},
        {**ANSWER, "answer": "maybe"},
        {**ANSWER, "answer": None},
        {**ANSWER, "binding": "b2"},
        {**ANSWER, "v": 2},
        {"answer": "yes", "binding": "b1"},
        {"v": 1, "answer": "yes"},
    ],
)
def test_a_reply_that_does_not_fit_is_a_refusal(given):
    assert Reply.from_dict(given, "b1", "file") == Reply(Answer.NO, "file")


def test_parts_of_a_reply_with_another_type_are_left_out():
    given = {**ANSWER, "who": 1, "reason": ["x"], "via": None}

    assert Reply.from_dict(given, "b1", "file") == Reply(Answer.YES, "file")


@pytest.mark.parametrize(
    "request_",
    [
        REQUEST,
        dataclasses.replace(REQUEST, risk=Risk.CRITICAL, model_says="m", always="write_file(a)"),
        dataclasses.replace(REQUEST, effects={"reads": ["a"]}, agent="explore"),
        dataclasses.replace(REQUEST, chain=("main", "explore"), session="s1"),
    ],
)
def test_a_request_is_read_back_from_json(request_):
    given = json.loads(json.dumps(request_.to_dict()))

    assert ApprovalRequest.from_dict(given) == request_


def test_only_a_subagent_has_a_chain_and_only_a_known_session_is_named():
    assert "chain" not in dataclasses.replace(REQUEST, chain=("main",)).to_dict()
    assert "session" not in REQUEST.to_dict()


@pytest.mark.parametrize(
    "change",
    [
        {"risk": "none"},
        {"risk": 1},
        {"tool": 1},
        {"preview": None},
        {"binding": None},
        {"model_says": 1},
        {"always": []},
        {"effects": []},
        {"effects": "x"},
        {"chain": "main"},
        {"chain": ["main", 1]},
        {"session": 1},
        {"session": None},
        {"further": "x"},
    ],
)
def test_a_request_with_another_part_is_an_error(change):
    with pytest.raises(ValueError):
        ApprovalRequest.from_dict({**REQUEST.to_dict(), **change})


@pytest.mark.parametrize("given", [None, [], "x", {}])
def test_what_is_no_request_is_an_error(given):
    with pytest.raises(ValueError):
        ApprovalRequest.from_dict(given)


@pytest.mark.parametrize("name", sorted(REQUEST.to_dict()))
def test_a_request_without_a_part_is_an_error(name):
    given = REQUEST.to_dict()
    del given[name]

    with pytest.raises(ValueError):
        ApprovalRequest.from_dict(given)


def test_a_rule_is_quoted_for_the_settings():
    assert config_line('run_command(echo "\u00e9")').startswith('"run_command(echo \\"\u00e9\\")"')


def test_a_model_reads_its_own_name_of_the_tool():
    words = CallerWords({}, True, {"write_file": "Write"}.__getitem__, dict)
    token = current_words.set(words)
    try:
        assert caller_config_line("write_file(a(b))").startswith('"Write(a(b))"')
        assert caller_config_line("write_file").startswith('"Write"')
    finally:
        current_words.reset(token)
    assert caller_config_line("write_file").startswith('"write_file"')
