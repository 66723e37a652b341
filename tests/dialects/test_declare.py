"""Declarations in each provider's form, and prose in each dialect's words."""

import pytest
from anthropic.types import ToolParam
from openai.types.chat import ChatCompletionFunctionToolParam
from openai.types.responses import FunctionToolParam
from pydantic import TypeAdapter
from tests.dialects.builtin import entries

from handrail.core.problems import ProblemRaised
from handrail.dialects.base import Arg, View
from handrail.dialects.declare import ToolDeclaration, declarations, fill
from handrail.dialects.known import DIALECTS, find_vocabulary

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "Where [[limit]] counts."},
        "limit": {"type": "integer", "default": 9, "minimum": 1},
        "quiet": {"type": "boolean", "description": "Unlike [[secret]]."},
        "secret": {"type": "string"},
    },
    "required": ["path"],
    "additionalProperties": False,
}
VIEW = View(
    "look",
    "Look",
    (
        Arg("file_path", "path"),
        Arg("head", "limit", {"minimum": 0}),
        Arg("loud", "quiet", show=lambda value: not value),
        Arg("why", None, {"type": "string"}),
    ),
    defaults={"limit": 5},
    note="A note.",
)
PROSE = "Look at [[path]].\nUse [[limit]].\nNever [[secret]].\nSee [[tool:look]].\nOr [[tool:x]]."
SHOWN = {
    "type": "object",
    "properties": {
        "file_path": {"type": "string", "description": "Where head counts."},
        "head": {"type": "integer", "minimum": 0, "default": 5},
        "loud": {"type": "boolean"},
        "why": {"type": "string"},
    },
    "required": ["file_path"],
    "additionalProperties": False,
}
TEXT = "Look at file_path.\nA note.\nUse head.\nSee Look."


@pytest.mark.feature("A19")
@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        (
            "openai",
            {
                "type": "function",
                "function": {"name": "Look", "description": TEXT, "parameters": SHOWN},
            },
        ),
        (
            "openai-responses",
            {
                "type": "function",
                "name": "Look",
                "description": TEXT,
                "parameters": SHOWN,
                "strict": False,
            },
        ),
        ("anthropic", {"name": "Look", "description": TEXT, "input_schema": SHOWN}),
        (
            "mcp",
            {
                "name": "Look",
                "description": TEXT,
                "inputSchema": SHOWN,
                "outputSchema": {"type": "object"},
                "annotations": {
                    "readOnlyHint": True,
                    "destructiveHint": False,
                    "idempotentHint": True,
                    "openWorldHint": False,
                },
            },
        ),
    ],
)
def test_each_provider_gets_its_own_form(provider, expected):
    entry = ToolDeclaration(
        VIEW, SCHEMA, PROSE, {"type": "object"}, reads_only=True, idempotent=True
    )

    assert declarations(provider, [entry]) == [expected]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("provider", "form"),
    [
        ("openai", ChatCompletionFunctionToolParam),
        ("openai-responses", FunctionToolParam),
        ("anthropic", ToolParam),
    ],
)
def test_the_sdks_accept_what_is_declared(dialect, provider, form):
    declared = declarations(provider, entries(find_vocabulary(dialect)))

    checked = TypeAdapter(list[form]).validate_python(declared)  # type: ignore[valid-type]

    assert len(checked) == len(declared) >= 8


def test_a_default_that_the_dialect_turns_round_is_shown_turned():
    view = View("t", "t", (Arg("loud", "quiet", show=lambda value: not value),))
    schema = {"properties": {"quiet": {"type": "boolean", "default": True}}}

    [declared] = declarations("anthropic", [ToolDeclaration(view, schema, "")])

    assert declared["input_schema"]["properties"] == {"loud": {"type": "boolean", "default": False}}


def test_an_argument_that_the_view_fills_in_need_not_be_given():
    view = View("t", "t", (Arg("path", "path"),), defaults={"path": "."})

    [declared] = declarations("anthropic", [ToolDeclaration(view, SCHEMA, "")])

    assert declared["input_schema"]["required"] == []
    assert declared["input_schema"]["properties"]["path"]["default"] == "."


def test_output_that_is_no_object_is_not_promised_to_mcp():
    entry = ToolDeclaration(VIEW, SCHEMA, PROSE, {"type": "array"})

    [declared] = declarations("mcp", [entry])

    assert "outputSchema" not in declared
    assert declared["annotations"]["readOnlyHint"] is False
    assert declared["annotations"]["destructiveHint"] is True


def test_declaring_changes_nothing_that_was_handed_in():
    before = repr(SCHEMA)

    declarations("openai", [ToolDeclaration(VIEW, SCHEMA, PROSE)])

    assert repr(SCHEMA) == before


def test_an_unknown_provider_is_refused_with_the_known_ones():
    with pytest.raises(ProblemRaised) as caught:
        declarations("cohere", [])

    assert caught.value.problem.hint == "formats: openai, openai-responses, anthropic, gemini, mcp"


# --- prose --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("Plain.", "Plain."),
        ("[[path]] and [[path]]", "file_path and file_path"),
        ("Use [[tool:grep]] on [[path]].", "Use Grep on file_path."),
        ("Kept.\nAbout [[pages]].\nKept too.", "Kept.\nKept too."),
        ("Kept.\nUse [[tool:undo]].", "Kept."),
        ("One.\n\nAbout [[-x]] and [[ path ]].", "One.\n\nAbout [[-x]] and [[ path ]]."),
        ("[[pages]]", ""),
    ],
)
def test_prose_speaks_the_dialect_and_drops_what_is_not_shown(template, text):
    assert fill(template, {"path": "file_path"}, {"grep": "Grep"}) == text
