"""Keys: ours, those of other systems, and those that nobody knows."""

import pytest

from handrail.core.problems import ProblemRaised

ARCHITECT = """\
workspace:
  root: .
  allow_delete: false
commands:
  enabled: yes
  default_timeout: 20
  max_output_lines: 50
  allowed_only: on
guardrails:
  protected_files: [poetry.lock]
  max_commands_executed: 9
  code_rules:
    - pattern: eval
      severity: block
hooks:
  post_tool_use:
    - name: lint
      command: ruff check {file}
agents:
  build:
    allowed_tools: ["*"]
"""


@pytest.mark.feature("Y06")
def test_sections_of_other_systems_are_understood(place):
    place.project(ARCHITECT, "config.yaml")

    settings = place.load(trusted=True).settings

    assert (settings.allow_delete, settings.commands, settings.command_timeout_s) == (
        False,
        True,
        20,
    )
    assert (settings.max_output_lines, settings.allowed_only) == (50, True)
    assert settings.guardrails == {
        "protected_files": ["poetry.lock"],
        "max_commands_executed": 9,
        "code_rules": [{"pattern": "eval", "severity": "block"}],
    }
    assert settings.hooks == {"post_tool_use": [{"name": "lint", "command": "ruff check {file}"}]}
    assert settings.agents == {"build": {"allowed_tools": ["*"]}}


def test_of_such_a_file_only_what_narrows_applies_untrusted(place):
    place.project(ARCHITECT, "config.yaml")

    loaded = place.load()

    assert [one.key for one in loaded.ignored] == [
        "hooks.post_tool_use[0]",
        "agents.build.allowed_tools[0]",
    ]
    assert loaded.settings.guardrails["max_commands_executed"] == 9


def test_the_same_keys_work_as_toml_tables(place):
    place.own.write_text(
        "[commands]\nenabled = false\n[sandbox]\nrequire = ['network']\n[workspace]\nroot = '.'\n"
    )

    settings = place.load().settings

    assert (settings.commands, settings.sandbox_require) == (False, ("network",))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("\nnetwrok = true\n", ":2: netwrok: unknown setting; did you mean `network`?"),
        ("[commands]\nenable = true\n", ":2: commands.enable: unknown setting; did you "),
        ("[permissions]\nallows = []\n", ":2: permissions.allows: unknown list of rules"),
        ("[permissions]\ndeny = [1]\n", ":2: permissions.deny[0]: "),
        ("[permissions]\ndeny = ['']\n", ":2: permissions.deny[0].rule: "),
        ("[[permissions.deny]]\nrule = 'a'\nexample = 'b'\n", ":3: permissions.deny[0].example: "),
        ("\n\nmax_output_lines = 5\n", ":3: max_output_lines: "),
        ("[commands]\nmax_output_lines = 5\n", ":2: commands.max_output_lines: "),
        (
            "allowed_only = true\n[commands]\nallowed_only = false\n",
            ":3: commands.allowed_only: it ",
        ),
        ("[workspace]\nroot = '/etc'\n", ":2: workspace.root: the workspace is set with -w"),
        ("[hooks]\nwhen = 1979-05-27\n", ":1: hooks: datetime.date(1979, 5, 27) is neither text"),
        ("hooks = 3\n", ":1: hooks: "),
        ("url = 'http://x'\n", ":1: url: unknown setting"),
    ],
)
@pytest.mark.parametrize("layer", ["own", "project"])
def test_a_key_that_does_not_fit_is_named_with_file_and_line(place, layer, text, complaint):
    path = place.root / ".handrail" / "config.toml" if layer == "project" else place.own
    path.write_text(text)

    with pytest.raises(ProblemRaised) as raised:
        place.load()

    assert f"{path}{complaint}" in str(raised.value)


def test_all_errors_are_told_at_once_but_not_without_end(place):
    place.project("mode = 1\n" + "".join(f"unknown_{n} = 1\n" for n in range(3000)))
    with pytest.raises(ProblemRaised) as many:
        place.load()
    place.project("".join(f"unknown_{n} = 1\n" for n in range(10)))
    with pytest.raises(ProblemRaised) as ten:
        place.load()
    place.project("mode = 1\nnetwork = 'perhaps'\n")
    with pytest.raises(ProblemRaised) as two:
        place.load()

    assert ten.value.problem.message.count("unknown_") == 10
    assert " more" not in ten.value.problem.message
    assert many.value.problem.message.endswith("and 2990 more")
    assert ":1: mode: " in str(two.value)
    assert ":2: network: " in str(two.value)


def test_two_files_of_one_layer_are_refused_by_name(place):
    place.project("mode = 'plan'\n")
    place.project("mode: yolo\n", "config.yaml")

    with pytest.raises(ProblemRaised, match=r"both .*config\.toml and .*config\.yaml"):
        place.load()


def test_a_hostile_key_cannot_forge_a_line_or_fill_the_screen(place):
    place.project(f'"x\\n\\u001b[2Jok{"y" * 5000}" = 1\n')

    with pytest.raises(ProblemRaised) as raised:
        place.load()

    message = raised.value.problem.message
    assert "\n" not in message
    assert "\x1b" not in message
    assert len(message) < 1000


def test_a_wrong_keyword_is_named(place):
    with pytest.raises(ProblemRaised, match="invalid settings: durability: ") as raised:
        place.load(durability="forever")

    assert raised.value.problem.field == "durability"


@pytest.mark.parametrize(("size", "ok"), [(1000, True), (1001, False)])
def test_a_pattern_of_protected_names_has_a_limit(place, size, ok):
    place.own.write_text(f"allow_protected = ['{'a' * size}']\n")

    if ok:
        assert place.load().settings.allow_protected == ("a" * size,)
    else:
        with pytest.raises(ProblemRaised, match="1000") as raised:
            place.load()
        assert raised.value.problem.code == "invalid_arguments"
