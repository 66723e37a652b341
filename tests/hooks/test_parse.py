"""What a person may write about hooks, and where an error points."""

import pytest

from handrail.core.problems import ProblemRaised
from handrail.core.verdicts import Effect
from handrail.hooks.fields import HookParseContext, SettingLocation
from handrail.hooks.parse import (
    ClaudeSettingsFile,
    claude_settings_files,
    parse_claude_settings,
    parse_hooks,
)
from handrail.hooks.spec import HookEvent, HookStyle

KNOWN = frozenset(
    {"edit_file", "Edit", "write_file", "Write", "run_command", "Bash", "apply_patch"}
)


def place(key, *, own=True):
    return SettingLocation("config.toml:7", key, own)


def parse(table, *, own=True):
    return parse_hooks(table, HookParseContext(["/w"], KNOWN, lambda key: place(key, own=own)))


def one(entry, event="pre_tool_use", *, own=True):
    (spec,) = parse({event: [{"command": "true", **entry}]}, own=own).specs
    return spec


def message(table, *, own=True):
    with pytest.raises(ProblemRaised) as caught:
        parse(table, own=own)
    return caught.value.problem.message


@pytest.mark.feature("R-06")
def test_the_defaults_of_a_hook():
    spec = one({})

    assert (spec.timeout_s, spec.background, spec.matcher.text) == (10, False, "*")
    assert (spec.name, spec.on_failure, spec.may_allow) == ("true", Effect.DENY, False)
    assert spec.unconfined is False
    assert parse({"pre_tool_use": [{"command": "true", "enabled": False}]}).specs == ()


def test_a_hook_without_a_name_has_the_first_three_words_of_its_command():
    assert one({"command": "python  check.py --strict --all"}).name == "python check.py --strict"
    assert one({"command": "make", "name": "lint"}).name == "lint"


@pytest.mark.parametrize("name", ["pre_tool_use", "PreToolUse"])
def test_events_have_two_spellings(name):
    assert one({}, name).event is HookEvent.PRE_TOOL_USE


@pytest.mark.feature("K06")
def test_only_what_a_call_waits_for_is_a_guard():
    events = [event for event in HookEvent if one({}, event.value).on_failure is not Effect.ALLOW]

    assert set(events) == {HookEvent.PRE_TOOL_USE, HookEvent.PRE_LLM_CALL}
    assert one({"async": True}).on_failure is Effect.ALLOW
    assert [one({"on_failure": word}).on_failure for word in ("deny", "block", "ask", "allow")] == [
        Effect.DENY,
        Effect.DENY,
        Effect.ASK,
        Effect.ALLOW,
    ]


@pytest.mark.feature("K11")
def test_the_old_post_edit_is_a_hook_after_edits():
    (spec,) = parse({"post_edit": [{"name": "lint", "command": "ruff check {file}"}]}).specs

    assert (spec.event, spec.matcher.text) == (
        HookEvent.POST_TOOL_USE,
        "edit_file|write_file|apply_patch",
    )
    assert spec.command == 'ruff check "$1"'


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"pre_tool_use": [{}]}, "config.toml:7: hooks.pre_tool_use[0].command: it must be text"),
        ({"pre_tool_use": {"command": "x"}}, "must be a list"),
        ({"pre_tool_use": ["x"]}, "a hook is a table"),
        ({"pre_tool_us": [{"command": "x"}]}, "did you mean 'pre_tool_use'"),
        ({"Stop": [{"command": "x"}]}, "belongs to the agent loop"),
        ({"pre_tool_use": [{"command": "x", "timout": 3}]}, "did you mean 'timeout'"),
        ({"pre_tool_use": [{"command": "x", "timeout": 301}]}, "must be 1 to 300 seconds"),
        ({"pre_tool_use": [{"command": "x", "timeout": True}]}, "must be a number"),
        ({"pre_tool_use": [{"command": "x", "enabled": "no"}]}, "must be true or false"),
        ({"pre_tool_use": [{"command": "x", "on_failure": "warn"}]}, "deny, ask or allow"),
        ({"post_tool_use": [{"command": "x", "on_failure": "deny"}]}, "can stop it"),
        ({"pre_tool_use": [{"command": "x", "async": True, "on_failure": "ask"}]}, "can stop it"),
        ({"pre_tool_use": [{"command": "x", "matcher": "edit_fil"}]}, "did you mean 'edit_file'"),
        ({"pre_tool_use": [{"command": "x", "matcher": "("}]}, ".matcher: the pattern cannot be"),
        ({"session_start": [{"command": "x", "matcher": "Edit"}]}, "is not about a tool"),
        ({"pre_tool_use": [{"command": "x", "file_patterns": [1]}]}, "a list of texts"),
        ({"pre_tool_use": [{"command": "x", "file_patterns": [""]}]}, "not a file pattern"),
        ({"pre_tool_use": [{"command": "echo $(cat {file})"}]}, ".command: {file} cannot stand"),
        ({"post_tool_use": [{"command": "x"}] * 201}, "more than 200"),
    ],
)
def test_an_error_names_the_place_and_the_key(table, said):
    told = message(table)

    assert said in told
    assert told.startswith("config.toml:7: hooks")


@pytest.mark.parametrize("flag", ["may_allow", "unconfined"])
def test_a_workspace_cannot_claim_what_only_the_person_may_give(flag):
    group = {"hooks": [{"type": "command", "command": "x", flag: True}]}

    assert getattr(one({flag: True}), flag)
    assert "only your own settings" in message(
        {"pre_tool_use": [{"command": "x", flag: True}]}, own=False
    )
    assert "only your own settings" in message({"PreToolUse": [group]}, own=False)


def test_one_bad_hook_does_not_silence_the_others_because_none_is_loaded():
    assert "[1].command" in message({"pre_tool_use": [{"command": "x"}, {"command": 3}]})


CLAUDE = {
    "model": "whatever",
    "hooks": {
        "PreToolUse": [
            {
                "matcher": "Bash|Edit|MultiEdit",
                "hooks": [
                    {"type": "command", "command": "guard.py", "timeout": 5},
                    {"type": "command", "command": "guard", "args": ["a b"], "timeout": 900},
                    {"type": "prompt", "prompt": "is this fine?"},
                ],
            }
        ],
        "PostToolUse": [{"hooks": [{"type": "command", "command": "fmt", "async": True}]}],
        "SessionStart": [{"matcher": "startup", "hooks": [{"type": "command", "command": "hi"}]}],
        "Stop": [{"hooks": [{"type": "command", "command": "bye"}]}],
    },
}


def claude(settings, **options):
    file = ClaudeSettingsFile("/elsewhere/settings.json", place("hooks.claude"), options)
    return parse_claude_settings(settings, file, HookParseContext(["/w"], KNOWN, place))


def test_a_settings_file_of_claude_code_loads_unchanged():
    parsed = claude(CLAUDE)

    told = [(one.event.value, one.command, one.timeout_s, one.background) for one in parsed.specs]
    assert told == [
        ("pre_tool_use", "guard.py", 5, False),
        ("pre_tool_use", "guard 'a b'", 300, False),
        ("post_tool_use", "fmt", 60, True),
        ("session_start", "hi", 60, False),
    ]
    assert {one.style for one in parsed.specs} == {HookStyle.CLAUDE}
    assert {one.on_failure for one in parsed.specs} == {Effect.ALLOW}
    assert [notice.split(": ", 1)[1] for notice in parsed.notices] == [
        "hooks.PreToolUse[0].hooks[1].timeout: 300 seconds are the most here",
        "hooks.PreToolUse[0].hooks[2]: hooks of type 'prompt' are not run here",
        "hooks.Stop: hooks of this event are not run here",
    ]


def test_the_same_table_may_stand_in_our_own_settings():
    parsed = parse(CLAUDE["hooks"])

    assert [one.command for one in parsed.specs] == [one.command for one in claude(CLAUDE).specs]


def test_the_person_may_add_what_that_form_does_not_have():
    (spec, *_) = claude(CLAUDE, on_failure="deny", may_allow=True).specs

    assert (spec.on_failure, spec.may_allow) == (Effect.DENY, True)


def test_hooks_that_are_switched_off_in_that_file_are_off():
    assert claude({**CLAUDE, "disableAllHooks": True}).specs == ()


@pytest.mark.parametrize("settings", [[], {"hooks": []}, {"hooks": {"PreToolUse": {}}}, 3])
def test_a_file_without_hooks_in_it_is_an_error(settings):
    with pytest.raises(ProblemRaised) as caught:
        claude(settings)

    assert caught.value.problem.message.startswith("/elsewhere/settings.json: hooks")


@pytest.mark.parametrize(
    ("given", "paths"),
    [("~/a.json", ["~/a.json"]), (["a", {"file": "b", "on_failure": "deny"}], ["a", "b"])],
)
def test_files_are_named_by_a_path_or_a_list(given, paths):
    assert [one.path for one in claude_settings_files({"claude": given}, place)] == paths


@pytest.mark.parametrize("given", [{"file": "a"}, 3, [{"path": "a"}], [{}]])
def test_other_ways_to_name_files_are_errors(given):
    with pytest.raises(ProblemRaised):
        list(claude_settings_files({"claude": given}, place))


def test_a_workspace_cannot_name_a_file_of_hooks():
    with pytest.raises(ProblemRaised) as caught:
        list(claude_settings_files({"claude": "a"}, lambda key: place(key, own=False)))

    assert "only your own settings" in caught.value.problem.message
