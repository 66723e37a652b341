"""The fields of a hook: types, bounds, and where a mistake is."""

import pytest

from handrail.core.problems import ProblemRaised
from handrail.core.verdicts import Effect
from handrail.hooks.fields import (
    HookFields,
    HookParseContext,
    SettingLocation,
    check_hook_count,
    did_you_mean,
    hook_name,
    is_claude_group,
    parse_file_patterns,
    parse_matcher,
    require_list,
)
from handrail.hooks.spec import HookEvent, HookStyle

WHERE = SettingLocation("settings.toml:3", "hooks[0]", user_owned=True)
AROUND = HookParseContext(("/w",), frozenset(("read_file", "edit_file")), lambda _: WHERE)


def fields(known=None, where=WHERE, **table):
    return HookFields(table, where, known)


def problem(act, *arguments):
    with pytest.raises(ProblemRaised) as caught:
        act(*arguments)
    return caught.value.problem


def test_a_location_is_shown_with_its_file_if_there_is_one():
    assert str(WHERE) == "settings.toml:3: hooks[0]"
    assert str(WHERE._replace(place="")) == "hooks[0]"
    assert str(WHERE.below(".name")) == "settings.toml:3: hooks[0].name"


def test_a_problem_says_where_it_is():
    found = problem(fields(name=1).text, "name")

    assert found.code == "invalid_arguments"
    assert found.field == "hooks[0].name"
    assert found.message.startswith("settings.toml:3: hooks[0].name: ")
    nowhere = problem(fields(where=WHERE._replace(place=""), name=1).text, "name")
    assert nowhere.message.startswith("hooks[0].name: ")


def test_a_long_key_is_cut():
    assert len(problem(fields().text, "k" * 300).field) == 200


def test_a_table_is_required():
    assert problem(HookFields, ["a"], WHERE, None).field == "hooks[0]"


def test_an_unknown_field_is_refused_where_fields_are_known():
    found = problem(HookFields, {"nme": 1}, WHERE, ("name", "command"))

    assert found.field == "hooks[0].nme"
    assert "'name'" in found.message
    assert fields(known=("a",), a=1).has("a")
    assert fields(other=1).has("other")


def test_a_field_is_given_if_it_has_a_value():
    one = fields(a=0, b=None, c="")

    assert [one.has(key) for key in "abcd"] == [True, False, True, False]


@pytest.mark.parametrize("value", [1, None, "", "  ", ["a"]])
def test_a_required_text_is_not_blank(value):
    assert problem(fields(a=value).text, "a").field == "hooks[0].a"


def test_text_has_a_default():
    assert fields().text("a", "b") == "b"
    assert fields(a="c").text("a", "b") == "c"
    assert fields(a="").text("a", "b") == ""
    assert problem(fields().text, "a").field == "hooks[0].a"


def test_a_name_is_short_and_on_one_line():
    assert fields(a="x" * 100).name("a", "") == "x" * 80
    assert "\n" not in fields(a="x\ny").name("a", "")
    assert fields(a="  x ").name("a", "") == "x"


def test_texts_are_a_list_or_one():
    assert fields(a="x").texts("a") == ["x"]
    assert fields(a=["x", "y"]).texts("a") == ["x", "y"]
    assert fields(a=("x",)).texts("a") == ("x",)
    assert fields().texts("a") == []
    for wrong in (1, ["x", 1], {"x": 1}, None):
        assert problem(fields(a=wrong).texts, "a").field == "hooks[0].a"


def test_a_flag_is_true_or_false():
    assert fields(a=True).flag("a", False) is True
    assert fields(a=False).flag("a", True) is False
    assert fields().flag("a", True) is True
    for wrong in (1, "true", None):
        assert problem(fields(a=wrong).flag, "a", False).field == "hooks[0].a"


@pytest.mark.parametrize(("value", "seconds"), [(1, 1.0), (2.5, 2.5), (10, 10.0)])
def test_seconds_lie_within_their_bounds(value, seconds):
    found = fields(a=value).seconds("a", 5, 1, 10)

    assert found == seconds
    assert isinstance(found, float)
    assert fields().seconds("a", 5, 1, 10) == 5.0


@pytest.mark.parametrize("value", [True, "1", None, 0.9, 10.1, [1]])
def test_other_seconds_are_refused(value):
    assert problem(fields(a=value).seconds, "a", 5, 1, 10).field == "hooks[0].a"


def test_a_style_is_one_of_two():
    assert fields(a="architect").style("a", HookStyle.OWN) is HookStyle.ARCHITECT
    assert fields(a="own").style("a", HookStyle.ARCHITECT) is HookStyle.OWN
    assert fields().style("a", HookStyle.ARCHITECT) is HookStyle.ARCHITECT
    assert problem(fields(a="other").style, "a", HookStyle.OWN).field == "hooks[0].a"


def test_an_effect_is_deny_ask_or_allow():
    known = {"deny": Effect.DENY, "block": Effect.DENY, "ask": Effect.ASK, "allow": Effect.ALLOW}
    for value, effect in known.items():
        assert fields(a=value).effect("a") is effect
    assert fields().effect("a") is None
    for wrong in ("x", 1, ["deny"]):
        assert problem(fields(a=wrong).effect, "a").field == "hooks[0].a"


def test_some_flags_are_the_users():
    project = WHERE._replace(user_owned=False)

    assert fields(a=True).user_only_flag("a") is True
    assert fields(where=project).user_only_flag("a") is False
    assert fields(where=project, a=False).user_only_flag("a") is False
    assert problem(fields(where=project, a=True).user_only_flag, "a").field == "hooks[0].a"


def test_a_suggestion_names_what_is_close():
    assert "'edit_file'" in did_you_mean("edit_fil", ["edit_file", "other"])
    assert " or " in did_you_mean("read_file", ["read_file1", "read_file2", "read_file3"])
    assert did_you_mean("zzz", ["edit_file"]) == ""


def test_a_list_is_required():
    assert require_list([1], WHERE) == [1]
    assert require_list((1,), WHERE) == (1,)
    assert problem(require_list, {"a": 1}, WHERE).field == "hooks[0]"


@pytest.mark.parametrize(
    ("entry", "group"), [({"hooks": []}, True), ({"hooks": {}}, False), ({}, False), ([], False)]
)
def test_a_group_of_claude_code_has_a_list_of_hooks(entry, group):
    assert is_claude_group(entry) is group


def matcher(text, event=HookEvent.PRE_TOOL_USE, *, lenient=False):
    notices = []
    found = parse_matcher(fields(), text, event, AROUND, notices, lenient=lenient)
    return found, notices


def test_a_matcher_names_tools_that_there_are():
    found, notices = matcher("read_file|edit_file")

    assert found.matches(["edit_file"])
    assert not found.matches(["other"])
    assert notices == []


def test_a_matcher_for_every_tool_is_allowed_for_every_event():
    assert matcher("*", HookEvent.SESSION_START)[0].text == "*"
    assert matcher("*")[1] == []


def test_a_matcher_of_an_event_without_tools_is_refused_unless_lenient():
    assert problem(matcher, "read_file", HookEvent.SESSION_START).field == "hooks[0].matcher"
    assert matcher("read_file", HookEvent.SESSION_START, lenient=True)[1] == []


def test_a_name_that_no_tool_has():
    found = problem(matcher, "read_fil")

    assert (found.field, "'read_file'" in found.message) == ("hooks[0].matcher", True)
    notices = matcher("read_fil", lenient=True)[1]
    assert len(notices) == 1
    assert "read_fil" in notices[0]


@pytest.mark.parametrize("text", ["mcp__server__tool", "mcp_server_tool", "^mcp__.*"])
def test_tools_of_servers_are_not_known_yet(text):
    assert matcher(text)[1] == []


def test_a_pattern_that_fits_no_tool_is_a_notice():
    assert len(matcher("^write_.*")[1]) == 1
    assert matcher("^read_.*")[1] == []
    assert problem(matcher, "(").field == "hooks[0].matcher"


def test_file_patterns_are_optional():
    assert parse_file_patterns(fields(), AROUND) is None
    assert parse_file_patterns(fields(file_patterns=[]), AROUND) is None
    assert parse_file_patterns(fields(file_patterns="*.py"), AROUND) is not None
    wrong = fields(file_patterns=["*.py", " "])
    assert problem(parse_file_patterns, wrong, AROUND).field == "hooks[0].file_patterns"


def test_a_hook_without_a_name_has_the_first_words_of_its_command():
    assert hook_name(fields(), "a  b c d") == "a b c"
    assert hook_name(fields(name="x"), "a b") == "x"


def test_hooks_are_limited():
    assert check_hook_count([], ["n"], WHERE) == ((), ("n",))
    assert len(check_hook_count([None] * 200, [], WHERE).specs) == 200
    assert problem(check_hook_count, [None] * 201, [], WHERE).field == "hooks[0]"
