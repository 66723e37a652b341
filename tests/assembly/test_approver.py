"""Who is asked, by the name of the approver and the place of the store."""

import pytest

from handrail.assembly.approver import approver_for, queue_approver
from handrail.core.problems import ProblemRaised
from handrail.engine.questions import EventApprover
from handrail.host.terminal.approval_queue import QueueApprover
from handrail.host.terminal.prompt import TerminalApprover
from handrail.policy.approval.shared_approver import SharedApprover


@pytest.mark.parametrize("store", [None, ":memory:", "record.db"])
def test_questions_of_a_local_store_are_asked_on_this_machine(tmp_path, store):
    assert isinstance(queue_approver(tmp_path, store), QueueApprover)
    assert isinstance(queue_approver(tmp_path, store and tmp_path / store), QueueApprover)
    assert isinstance(approver_for("approvals", tmp_path, store), QueueApprover)


@pytest.mark.parametrize("url", ["postgresql://db.example/x", "postgres://db.example/x"])
def test_questions_of_a_store_on_a_server_are_asked_there_too(tmp_path, url):
    assert isinstance(queue_approver(tmp_path, url), SharedApprover)


@pytest.mark.parametrize(
    ("name", "kind"), [("terminal", TerminalApprover), ("events", EventApprover)]
)
def test_an_approver_has_a_name(tmp_path, name, kind):
    assert isinstance(approver_for(name, tmp_path), kind)
    assert isinstance(approver_for([name, None], tmp_path), SharedApprover)


@pytest.mark.parametrize("given", ["", "telex", 7])
def test_other_approvers_are_refused(tmp_path, given):
    with pytest.raises(ProblemRaised) as raised:
        approver_for(given, tmp_path)

    assert (raised.value.problem.code, raised.value.problem.field) == (
        "invalid_arguments",
        "approver",
    )


def test_without_an_approver_nobody_is_asked(tmp_path):
    assert approver_for(None, tmp_path) is None
