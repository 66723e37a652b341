"""The web for a runtime: questions about pages, engines of searches, and secrets that were read."""

from types import SimpleNamespace

import pytest

from handrail.assembly.extras.web import (
    _fence,
    _has_read_secrets,
    _load,
    _prompt_answerer,
    _search_key,
)
from handrail.core.lazy import Lazy
from handrail.core.ports.models import (
    Message,
    MessageDone,
    ModelFailed,
    TextBlock,
    TextDelta,
    UsageReported,
)
from handrail.core.problems import ProblemRaised

DONE = MessageDone("stop", Message("assistant", (TextBlock("it is so"),)))
USED = UsageReported(3, 4)


class SmallModel:
    name = "small"

    def __init__(self, events, most=9_000):
        self.events = events
        self.requests = []
        self.limits = SimpleNamespace(max_output_tokens=most)

    async def stream(self, request):
        self.requests.append(request)
        for event in self.events:
            if isinstance(event, Exception):
                raise event
            yield event


def answerer(model, name="small"):
    """A function that asks the model, with what is closed at the end of the runtime."""
    closed, asked = [], []

    def resolve(given):
        asked.append(given)
        return SimpleNamespace(model=model)

    source = SimpleNamespace(resolve=resolve, aclose="close models")
    ends = SimpleNamespace(push_async_callback=closed.append)
    answer = _prompt_answerer(Lazy(lambda: source), name, SimpleNamespace(ends=ends))
    return answer, closed, asked


async def test_without_a_small_model_nothing_is_asked():
    answer, closed, asked = answerer(SmallModel([DONE]), None)
    assert await answer("why?", "page") is None
    assert (closed, asked) == ([], [])


async def test_the_models_are_closed_once_with_the_runtime():
    answer, closed, asked = answerer(SmallModel([USED, TextDelta("it"), DONE]))
    for _ in range(2):
        found = await answer("why?", "page")
        assert (found.text, found.model, found.usage) == ("it is so", "small", USED)
        assert closed == ["close models"]
    assert (closed, asked) == (["close models"], ["small", "small"])


@pytest.mark.parametrize(("most", "allowed"), [(9_000, 1_500), (1_500, 1_500), (100, 100)])
async def test_a_question_has_a_limited_page_and_answer(most, allowed):
    model = SmallModel([DONE], most)
    await answerer(model)[0]("why?", "x" * 100_000 + "cut")
    (request,) = model.requests
    assert request.max_output_tokens == allowed
    (message,) = request.messages
    assert message.role == "user"
    assert message.text == f"why?\n\n{_fence('x' * 100_000)}"


@pytest.mark.parametrize(
    ("events", "reason"), [([ModelFailed("auth", "wrong key")], "wrong key"), ([USED], "")]
)
async def test_a_model_that_does_not_answer_is_a_problem(events, reason):
    with pytest.raises(ProblemRaised) as raised:
        await answerer(SmallModel(events))[0]("why?", "page")
    assert "small" in raised.value.problem.message
    assert reason in raised.value.problem.message


def test_a_page_cannot_contain_its_own_fence():
    first, text, last = _fence("a\ud800").split("\n")
    assert (text, last) == ("a\ud800", first.replace("<", "</"))
    assert _fence("a") != _fence("b")
    assert len(first) == len("<page->") + 16


@pytest.mark.parametrize(
    ("chosen", "key"),
    [
        ("ddgs", "net:search"),
        (object(), "net:search"),
        ("http://localhost:8080/search", "net:localhost:8080"),
    ],
)
def test_a_search_uses_the_host_of_its_engine(chosen, key):
    assert _search_key(chosen) == key


def test_other_engines():
    assert "duckduckgo" in _search_key("duckduckgo")
    with pytest.raises(ProblemRaised):
        _search_key("altavista")


def test_a_missing_package_names_its_extra():
    assert _load("json").__name__ == "json"
    with pytest.raises(ProblemRaised) as raised:
        _load("no_such_package.part")
    assert "no_such_package" in raised.value.problem.message
    with pytest.raises(ModuleNotFoundError):
        _load("handrail.no_such_module")


@pytest.mark.parametrize(
    ("shown", "forgot", "paths", "read"),
    [
        (False, False, [], False),
        (False, False, ["/w/a.py"], False),
        (False, False, ["/w/a.py", "/w/.env"], True),
        (False, True, [], True),
        (True, False, [], True),
    ],
)
def test_whether_secrets_were_read(shown, forgot, paths, read):
    class Reads(SimpleNamespace):
        def items(self):
            return [(path, None) for path in paths]

    states = SimpleNamespace(items=lambda: [("main", Reads(forgot_secrets=forgot))])
    assert _has_read_secrets(SimpleNamespace(secrets_shown=shown, read_states=states)) is read
