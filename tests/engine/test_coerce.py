"""Which wrong values are repaired, and how the others are explained."""

from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

from handrail.core.arguments.params import Params
from handrail.core.arguments.schema import model_from_schema
from handrail.core.paths import ReadPath
from handrail.core.problems import Problem
from handrail.engine.prepare.coerce import coerce, explain_errors


class Edit(Params):
    old: str
    every: bool = False


class Args(Params):
    text: str = ""
    flag: bool = False
    count: int = 1
    ratio: float = 1.0
    names: list[str] = Field([])
    numbers: list[int] = Field([])
    edits: list[Edit] = Field([])
    edit: Edit | None = None
    mode: Literal["a", "b"] = "a"
    either: str | list[str] = ""
    ceiling: int | None = 2000


FROM_SCHEMA = model_from_schema(
    "Server",
    {
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "flag": {"type": "boolean"},
            "count": {"type": "integer"},
            "ratio": {"type": "number"},
            "names": {"type": "array", "items": {"type": "string"}},
            "numbers": {"type": "array", "items": {"type": "integer"}},
            "edits": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"old": {"type": "string"}, "every": {"type": "boolean"}},
                    "required": ["old"],
                },
            },
            "edit": {
                "type": "object",
                "properties": {"old": {"type": "string"}, "every": {"type": "boolean"}},
            },
            "mode": {"enum": ["a", "b"]},
            "ceiling": {"type": ["integer", "null"]},
        },
        "additionalProperties": False,
    },
)


def repaired(model: type[BaseModel], **arguments: Any) -> dict[str, Any]:
    """The arguments after repair; they must then be valid, and each repair noted."""
    with pytest.raises(ValidationError):
        model.model_validate(arguments)
    result = coerce(model, arguments)
    model.model_validate(result.arguments)
    assert {note.partition(":")[0] for note in result.notes} == {
        name
        for name, value in arguments.items()
        if name not in result.arguments
        or result.arguments[name] != value
        or type(result.arguments[name]) is not type(value)
    }
    return result.arguments


BOTH = pytest.mark.parametrize("model", [Args, FROM_SCHEMA], ids=["declared", "from schema"])


@pytest.mark.feature("M01", "M03", "R-08")
@BOTH
@pytest.mark.parametrize("given", ["true", "True", " TRUE ", "1", "yes", "Yes", 1])
def test_words_and_one_for_true(model, given):
    assert repaired(model, flag=given) == {"flag": True}


@pytest.mark.feature("M01", "R-08")
@BOTH
@pytest.mark.parametrize("given", ["false", "FALSE", "0", "no", "No", 0])
def test_words_and_zero_for_false(model, given):
    assert repaired(model, flag=given)["flag"] is False


@pytest.mark.feature("M01")
@BOTH
@pytest.mark.parametrize("given", ["on", "y", "t", "maybe", 2, -1, 1.0, [], {}, [True]])
def test_nothing_is_true_or_false_by_its_truthiness(model, given):
    assert coerce(model, {"flag": given}) == ({"flag": given}, ())


@pytest.mark.feature("M02", "M03")
@BOTH
@pytest.mark.parametrize(
    ("given", "expected"),
    [(5, "5"), (-2.5, "-2.5"), (True, "true"), (False, "false"), (10**20, "1" + "0" * 20)],
)
def test_numbers_and_flags_where_text_is_wanted(model, given, expected):
    assert repaired(model, text=given) == {"text": expected}


@pytest.mark.feature("R-08")
@BOTH
def test_a_list_of_lines_where_text_is_wanted_is_joined(model):
    assert repaired(model, text=["one", "", "two"]) == {"text": "one\n\ntwo"}


@BOTH
@pytest.mark.parametrize("given", [{"a": 1}, [], ["a", 1], [["a"]]])
def test_other_containers_are_not_made_into_text(model, given):
    assert coerce(model, {"text": given}).arguments == {"text": given}


@BOTH
@pytest.mark.parametrize(
    ("given", "expected"), [("12", 12), (" -3 ", -3), ("+4", 4), ("5.0", 5), (6.0, 6), (1e3, 1000)]
)
def test_whole_numbers_in_other_dress(model, given, expected):
    assert repaired(model, count=given) == {"count": expected}


@BOTH
@pytest.mark.parametrize(
    "given", ["1.5", "1_000", "0x10", "٣", "1e3", "1 2", "x", 1.5, True, "9" * 40]
)
def test_what_is_no_whole_number_stays(model, given):
    assert coerce(model, {"count": given}).arguments == {"count": given}


@BOTH
@pytest.mark.parametrize(
    ("given", "expected"), [("1.5", 1.5), ("2", 2), ("1e3", 1000.0), ("-.5", None)]
)
def test_numbers_in_text(model, given, expected):
    if expected is None:
        assert coerce(model, {"ratio": given}).arguments == {"ratio": given}
    else:
        assert repaired(model, ratio=given) == {"ratio": expected}


@BOTH
@pytest.mark.parametrize("given", ["nan", "inf", "Infinity", "1e999"])
def test_no_number_becomes_infinite(model, given):
    result = coerce(model, {"ratio": given}).arguments["ratio"]

    assert result == given


@BOTH
@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("names", '["a", "b"]', ["a", "b"]),
        ("numbers", "[1, 2]", [1, 2]),
        ("numbers", '["1", 2]', [1, 2]),
        ("edits", '[{"old": "x"}]', [{"old": "x"}]),
        ("edits", '[{"old": "x", "every": "true"}]', [{"old": "x", "every": True}]),
        ("edit", ' {"old": "x"}', {"old": "x"}),
    ],
)
def test_json_text_inside_a_string_is_opened(model, name, given, expected):
    assert repaired(model, **{name: given}) == {name: expected}


@BOTH
@pytest.mark.parametrize("glob", ["[ab].py", "[1]", "[1, 2]", '["open', "*.py", "null and void"])
def test_a_string_that_only_looks_like_json_is_one_string(model, glob):
    assert repaired(model, names=glob) == {"names": [glob]}


@BOTH
@pytest.mark.parametrize(
    "text", ['{"old": "a", "old": "b"}', '{"old": NaN}', '{"old": "\\ud800"}', "{"]
)
def test_json_text_is_held_to_the_rules_of_arguments(model, text):
    assert coerce(model, {"edit": text}).arguments == {"edit": text}


@BOTH
@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("names", "a", ["a"]),
        ("names", 5, ["5"]),
        ("numbers", 5, [5]),
        ("numbers", "5", [5]),
        ("edits", {"old": "x"}, [{"old": "x"}]),
        ("edits", '{"old": "x"}', [{"old": "x"}]),
    ],
)
def test_one_value_where_a_list_is_wanted(model, name, given, expected):
    assert repaired(model, **{name: given}) == {name: expected}


@BOTH
@pytest.mark.parametrize("name", ["flag", "count", "ratio", "names", "edit"])
@pytest.mark.parametrize("given", ["null", "None", "", "  "])
def test_words_for_nothing_where_no_text_is_wanted_mean_not_given(model, name, given):
    assert repaired(model, **{name: given}) == {}


@BOTH
def test_null_for_an_argument_that_may_be_left_out_means_not_given(model):
    assert repaired(model, text=None, flag=None, mode=None) == {}


@BOTH
def test_words_for_nothing_are_text_where_text_is_wanted(model):
    assert coerce(model, {"text": "null", "count": "1"}).arguments == {"text": "null", "count": 1}


def test_null_that_has_a_meaning_is_kept_while_another_argument_is_repaired():
    assert repaired(Args, ceiling=None, count="3") == {"ceiling": None, "count": 3}


def test_an_argument_that_must_be_given_is_never_dropped():
    assert coerce(Edit, {"old": None, "every": "yes"}).arguments == {"old": None, "every": True}


def test_values_that_fit_are_not_touched():
    fitting = {"text": "1", "flag": True, "either": '["a"]', "names": ["1"], "mode": "b"}

    assert coerce(Args, {**fitting, "count": "7"}).arguments == {**fitting, "count": 7}


def test_a_value_for_one_of_several_types_becomes_the_first_that_fits():
    assert repaired(Args, either=5) == {"either": "5"}


def test_names_are_never_guessed():
    assert coerce(Args, {"txt": "a", "Flag": "true"}) == ({"txt": "a", "Flag": "true"}, ())


def test_several_paths_are_not_joined_to_one():
    class OneFile(Params):
        path: ReadPath
        text: str = ""

    assert coerce(OneFile, {"path": ["a", "b"]}).arguments == {"path": ["a", "b"]}
    assert repaired(OneFile, path=["a"], text=["x", "y"]) == {"path": "a", "text": "x\ny"}


@pytest.mark.feature("M03")
def test_every_repair_is_noted_briefly():
    notes = coerce(Args, {"flag": "yes", "count": "", "text": ["x" * 10_000]}).notes

    assert notes[:2] == ("flag: 'yes' taken as True", "count: '' taken as not given")
    assert notes[2].startswith("text: ['xxxx")
    assert len(notes[2]) < 120


# --- explaining ---------------------------------------------------------------------------


class Find(Params):
    path: str
    limit: int = Field(10, ge=1)
    glob: str | list[str] | None = None
    edits: list[Edit] = Field([])
    output_mode: Literal["content", "count"] = "content"


SPELLED = {"path": "file_path", "limit": "head_limit", "output_mode": "output_mode", "glob": "glob"}


ACCEPTED = ["file_path", "head_limit", "output_mode", "glob"]


def explained(arguments: dict[str, Any]) -> Problem:
    with pytest.raises(ValidationError) as caught:
        Find.model_validate(arguments)
    return explain_errors(caught.value, SPELLED, ACCEPTED).problem


def test_everything_wrong_is_told_at_once_in_the_callers_names():
    problem = explained({"limit": 0, "output_mode": "files", "glob": 5, "edits": [{"every": 1}]})

    assert problem == Problem(
        code="invalid_arguments",
        message=(
            "Invalid arguments: 'file_path' is required; "
            "'head_limit' should be greater than or equal to 1, not 0; "
            "'glob' should be a valid string or a valid list, not 5; "
            "'edits[0].old' is required; "
            "'edits[0].every' should be a valid boolean, not 1; "
            "'output_mode' should be 'content' or 'count', not 'files'"
        ),
        hint="accepted arguments: file_path, head_limit, output_mode, glob",
        field="file_path",
    )


def test_an_unknown_argument_gets_a_suggestion_and_nothing_more():
    problem = explained({"path": "a", "filepth": "b", "zzz": 1})

    first, second = problem.message.split("; ")
    assert first.startswith("Invalid arguments: 'filepth'")
    assert "did you mean 'file_path'?" in first
    assert second == "'zzz' is not an argument"
    assert problem.field == "filepth"


def test_an_argument_that_the_caller_spelled_otherwise_is_told_that_way():
    with pytest.raises(ValidationError) as caught:
        Find.model_validate({"path": 5, "lmit": 3})

    problem = explain_errors(caught.value, {"path": "filename", "limit": "limit"}).problem
    first, second = problem.message.split("; ")
    assert first.startswith("Invalid arguments: 'filename' should")
    assert first.endswith("valid string, not 5")
    assert second.startswith("'lmit' is not an argument")
    assert "did you mean 'limit'?" in second
    assert problem.hint is None


def test_many_errors_and_large_values_stay_short():
    problem = explained({"path": ["x" * 1_000_000], "edits": [{"old": n} for n in range(500)]})

    assert problem.message.endswith("; and 491 more")
    assert len(problem.message) < 1_500


def test_an_error_of_the_whole_needs_no_argument_name():
    with pytest.raises(ValidationError) as caught:
        Find.model_validate("not a mapping")

    problem = explain_errors(caught.value, SPELLED).problem
    assert problem.message.startswith("Invalid arguments: should be")
    assert problem.field is None


def test_a_schema_from_outside_explains_its_choices():
    model = model_from_schema("m", {"properties": {"n": {"enum": [1, 2.5]}}})
    with pytest.raises(ValidationError) as caught:
        model.model_validate({"n": 3})

    message = explain_errors(caught.value, {}).problem.message
    assert message.startswith("Invalid arguments: 'n' should")
    assert message.endswith("one of 1, 2.5, not 3")
