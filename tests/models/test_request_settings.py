"""What a request says besides its messages, in the form of each provider."""

import pytest

from handrail.core.ports.models import Message, ModelRequest, SystemPart, TextBlock
from handrail.models.wires.formats import FORMATS
from handrail.models.wires.requests import WireOptions

WIRES = ("openai-chat", "openai-responses", "anthropic", "gemini")
SCHEMA = {"type": "object", "properties": {}}
TOOL = {"name": "t", "description": "d", "input_schema": SCHEMA}
HELLO = Message("user", (TextBlock("hello"),))


def body(wire, options=None, **fields):
    """The settings of a request, without its messages."""
    request = ModelRequest(fields.pop("system", ()), (HELLO,), **fields)
    made = FORMATS[wire].render(request, WireOptions("m", **(options or {})))
    for name in ("messages", "input", "contents"):
        made.pop(name, None)
    return made


@pytest.mark.parametrize(
    ("wire", "settings"),
    [
        (
            "openai-chat",
            {"model": "m", "stream": True, "stream_options": {"include_usage": True}},
        ),
        (
            "openai-responses",
            {
                "model": "m",
                "stream": True,
                "store": False,
                "include": ["reasoning.encrypted_content"],
            },
        ),
        ("anthropic", {"model": "m", "max_tokens": 8192, "stream": True}),
        ("gemini", {}),
    ],
)
def test_a_request_without_settings_has_only_what_every_request_has(wire, settings):
    assert body(wire) == settings


@pytest.mark.parametrize(
    ("wire", "options", "limit"),
    [
        ("openai-chat", {}, {"max_tokens": 5}),
        ("openai-chat", {"is_openai": True}, {"max_completion_tokens": 5}),
        ("openai-responses", {}, {"max_output_tokens": 5}),
        ("anthropic", {}, {"max_tokens": 5}),
        ("gemini", {}, {"generationConfig": {"maxOutputTokens": 5}}),
    ],
)
def test_the_limit_of_an_answer_has_a_name_in_each_form(wire, options, limit):
    assert body(wire, options, max_output_tokens=5) == body(wire) | limit


@pytest.mark.parametrize(
    ("wire", "reasoning", "settings"),
    [
        ("openai-chat", "low", {"reasoning_effort": "low"}),
        ("openai-chat", 5000, {}),
        ("openai-responses", "low", {"reasoning": {"effort": "low", "summary": "auto"}}),
        ("openai-responses", 5000, {}),
        ("anthropic", "low", {"thinking": {"type": "enabled", "budget_tokens": 2048}}),
        ("anthropic", "medium", {"thinking": {"type": "enabled", "budget_tokens": 8191}}),
        ("anthropic", "high", {"thinking": {"type": "enabled", "budget_tokens": 8191}}),
        ("anthropic", 5000, {"thinking": {"type": "enabled", "budget_tokens": 5000}}),
        ("anthropic", 3, {"thinking": {"type": "enabled", "budget_tokens": 1024}}),
        (
            "gemini",
            "low",
            {
                "generationConfig": {
                    "thinkingConfig": {"thinkingBudget": 1024, "includeThoughts": True}
                }
            },
        ),
        (
            "gemini",
            0,
            {
                "generationConfig": {
                    "thinkingConfig": {"thinkingBudget": 0, "includeThoughts": True}
                }
            },
        ),
    ],
)
def test_how_much_a_model_may_think(wire, reasoning, settings):
    assert body(wire, {"reasoning": reasoning}) == body(wire) | settings


FUNCTION = {"name": "t", "description": "d", "parameters": SCHEMA}


@pytest.mark.parametrize(
    ("wire", "tools"),
    [
        ("openai-chat", [{"type": "function", "function": FUNCTION}]),
        ("openai-responses", [{"type": "function", "strict": False, **FUNCTION}]),
        ("anthropic", [TOOL]),
        (
            "gemini",
            [
                {
                    "functionDeclarations": [
                        {"name": "t", "description": "d", "parametersJsonSchema": SCHEMA}
                    ]
                }
            ],
        ),
    ],
)
def test_tools_are_declared_in_each_form(wire, tools):
    assert body(wire, tools=(TOOL,))["tools"] == tools


@pytest.mark.parametrize(
    ("wire", "choice", "settings"),
    [
        ("openai-chat", "auto", {}),
        ("openai-chat", "any", {"tool_choice": "required"}),
        ("openai-chat", "none", {"tool_choice": "none"}),
        ("openai-responses", "auto", {}),
        ("openai-responses", "any", {"tool_choice": "required"}),
        ("openai-responses", "none", {"tool_choice": "none"}),
        ("anthropic", "auto", {}),
        ("anthropic", "any", {"tool_choice": {"type": "any"}}),
        ("anthropic", "none", {"tool_choice": {"type": "none"}}),
        ("gemini", "auto", {"toolConfig": {"functionCallingConfig": {"mode": "AUTO"}}}),
        ("gemini", "any", {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}),
        ("gemini", "none", {"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}}),
    ],
)
def test_whether_a_model_must_call_a_tool(wire, choice, settings):
    made = body(wire, tools=(TOOL,), tool_choice=choice)
    made.pop("tools")

    assert made == body(wire) | settings


@pytest.mark.parametrize("wire", WIRES)
def test_without_tools_no_choice_is_sent(wire):
    assert body(wire, tool_choice="any") == body(wire)


def test_the_system_prompt_in_each_form():
    system = (SystemPart("a", cache=True), SystemPart("b"))

    assert body("openai-responses", system=system)["instructions"] == "a\n\nb"
    assert body("gemini", system=system)["systemInstruction"] == {
        "parts": [{"text": "a"}, {"text": "b"}]
    }
    assert body("anthropic", system=system)["system"] == [
        {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "b"},
    ]


@pytest.mark.parametrize(
    ("wire", "target", "headers"),
    [
        ("openai-chat", "/chat/completions", {"authorization": "Bearer k"}),
        ("openai-responses", "/responses", {"authorization": "Bearer k"}),
        ("anthropic", "/v1/messages", {"x-api-key": "k"}),
        ("gemini", "/models/a%2Fb:streamGenerateContent?alt=sse", {"x-goog-api-key": "k"}),
    ],
)
def test_where_a_request_goes_and_where_its_key_is(wire, target, headers):
    assert FORMATS[wire].target(WireOptions("a/b")) == target
    assert FORMATS[wire].auth_headers("k") == headers
