"""How a task begins and ends: its title, links, answers, and the calls that need a user."""

from types import SimpleNamespace

import pytest

from handrail.agent.completion import (
    StructuredOutput,
    check_user_needed,
    completion_facts,
    count_unasked,
    end_task,
    foreign_links,
    task_title,
    user_message,
)
from handrail.agent.loop import TaskEnd
from handrail.core.agent_results import AgentReport, RefusedCall
from handrail.core.ports.models import Message, TextBlock
from handrail.core.problems import Problem, ProblemRaised


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("", ""),
        (" \n\t\n", ""),
        ("\n  first  \nsecond", "first"),
        ("x" * 80, "x" * 80),
        ("x" * 81, "x" * 80),
    ],
)
def test_the_title_is_the_first_line(text, title):
    assert task_title(text) == title


@pytest.mark.parametrize("task", ["", " \n", [], [TextBlock(" ")]])
def test_a_task_without_words_is_refused(task):
    with pytest.raises(ProblemRaised) as raised:
        user_message(task)
    assert raised.value.problem.code == "invalid_arguments"


def test_a_task_is_a_message_of_the_user():
    assert user_message("do it") == Message("user", (TextBlock("do it"),))
    blocks = [TextBlock(""), TextBlock("do it")]
    assert user_message(blocks) == Message("user", tuple(blocks))


@pytest.mark.parametrize(
    ("link", "foreign"),
    [
        ("https://a.example/x", True),
        ("HTTP://A.example", True),
        ("//a.example/x?y", True),
        ("//a.example:80/x", True),
        ("//a.b:80", True),
        ("https://localhost:8000/", True),
        ("http://[::1]/", True),
        ("https://kim@a.example/", True),
        ("// comment", False),
        ("//comment", False),
        ("https://word/", False),
        ("https://[2001:db8::2]:80/x?y", True),
        ("//kim@[2001:DB8::2]", True),
        ("https://[2001:db8::1]/x", False),
        ("https://[bad/", False),
        ("https://[::1", False),
        ("https://named.example/x", False),
        ("https://NAMED.example./x", False),
        ("https://sub.named.example/x", True),
    ],
)
def test_which_links_the_user_has_not_named(link, foreign):
    found = foreign_links(f"see <{link}> there", ["look at Named.example and [2001:DB8::1]"])
    assert found == ((link,) if foreign else ())


def test_links_are_listed_once_and_limited():
    text = " ".join(f"https://h{number}.example https://h{number}.example" for number in range(25))
    assert foreign_links(text, []) == tuple(f"https://h{number}.example" for number in range(20))
    long = "https://a.example/" + "x" * 400
    assert foreign_links(long, []) == (long[:300],)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        (" 7 \n", 7),
        ("```\n7\n```", 7),
        ("```json\n7\n```", 7),
        ("```json \n 7 ```", 7),
        ("```python\n7\n```", None),
        ("```7```", None),
        ("```json\n7", None),
        ("7\n```", None),
        ("seven", None),
    ],
)
def test_an_answer_may_be_in_one_fence(text, value):
    found, wrong = StructuredOutput(int).read(text)
    assert found == value
    assert (wrong is None) == (value is not None)


def test_the_errors_of_an_answer_are_listed_with_their_places():
    _, wrong = StructuredOutput(dict[str, int]).read('{"a": "x", "b": 1}')
    assert [line[:5] for line in wrong.splitlines()[1:]] == ["- a: "]
    _, wrong = StructuredOutput(int).read('"x"')
    assert wrong.splitlines()[1].startswith("- value: ")
    _, wrong = StructuredOutput(list[int]).read(str(["x"] * 12).replace("'", '"'))
    assert len(wrong.splitlines()) == 11


def test_the_form_of_the_answer_follows_the_task():
    extended = StructuredOutput(int).extend(user_message("count"))
    assert extended.role == "user"
    assert extended.blocks[0] == TextBlock("count")
    assert '{"type": "integer"}' in extended.blocks[1].text
    assert len(extended.blocks) == 2


def refused(*codes, children=()):
    return AgentReport(refused=tuple(RefusedCall("c", code) for code in codes), children=children)


@pytest.mark.parametrize(
    ("report", "count"),
    [
        (refused(), 0),
        (refused("denied"), 0),
        (refused("needs_approval", "needs_answer", "denied"), 2),
        (refused("needs_approval", children=(refused("needs_answer"), refused("denied"))), 2),
    ],
)
def test_calls_that_no_user_could_allow_are_counted(report, count):
    assert count_unasked(report) == count


@pytest.mark.parametrize("status", ["done", "budget", "max_steps", "failed", "aborted"])
@pytest.mark.parametrize(("before", "needed"), [(0, True), (1, True), (2, False), (3, False)])
def test_a_user_is_needed_for_calls_refused_since_the_resume(status, before, needed):
    end = TaskEnd("text", None, status)
    found = check_user_needed(end, refused("needs_approval", "needs_answer"), before)
    if not needed or status in ("failed", "aborted"):
        assert found is end
        return
    assert (found.text, found.status) == ("text", "needs_person")
    assert str(2 - before) in found.problem.message


class Loop:
    """The parts of a loop that the end of a task uses, in the order of their use."""

    agent = "main"

    def __init__(self, named=()):
        self.order, self.updates, self.events, self.facts = [], [], [], []
        usage = SimpleNamespace(tokens=12, to_dict=lambda: {"tokens": 12})
        self.meter = SimpleNamespace(
            usage=usage, end=lambda: self.order.append("meter"), spent=lambda: {"usd": 1}
        )
        self.report = SimpleNamespace(build=lambda: AgentReport(changes=("a", "b")))
        self.conversation = SimpleNamespace(
            id="s1", turn_count=4, user_texts=list(named), update=self.update, flush=self.flush
        )

    def update(self, **values):
        self.updates.append(values)

    async def flush(self):
        self.order.append("flush")

    async def run_hooks(self, event, facts):
        self.order.append(event)
        self.facts.append(facts)

    def emit(self, event):
        self.order.append(event.type)
        self.events.append(event)


async def test_the_end_of_a_task_is_stored_then_told():
    loop = Loop()
    result = await end_task(loop, TaskEnd("see https://a.example/x"), 7)
    assert loop.order == ["meter", "flush", "notification", "agent_complete", "agent_end"]
    assert loop.updates == [{"unfinished": False, "spent": {"usd": 1}}]
    assert (result.output, result.status, result.session, result.turns) == (7, "done", "s1", 4)
    assert result.foreign_links == ("https://a.example/x",)
    assert "https://a.example/x" in str(loop.events[0])
    assert (
        loop.facts
        == [completion_facts(result)]
        == [
            {
                "agent_session": "s1",
                "status": "done",
                "turns": "4",
                "files_changed": "2",
                "tokens": "12",
            }
        ]
    )


async def test_a_task_that_a_problem_ended_is_unfinished():
    loop = Loop(named=["https://a.example"])
    problem = Problem("timeout", "too slow")
    result = await end_task(loop, TaskEnd("see https://a.example/x", problem, "failed"), None)
    assert loop.updates[0]["unfinished"] is True
    assert (result.problem, result.foreign_links) == (problem, ())
    assert loop.order == ["meter", "flush", "agent_complete", "agent_end"]
