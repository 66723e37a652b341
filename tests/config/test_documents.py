"""Files as data: lines that are right, errors that name them, and nothing hostile gets far."""

import os
import tomllib

import pytest

from handrail.config.files import yaml_values
from handrail.config.files.reading import MAX_BYTES
from handrail.config.files.toml_lines import key_lines
from handrail.config.layers.merge import leaves
from handrail.core.problems import ProblemRaised

TOML = '''# a comment with a = 1 and [brackets]
title = "x = 1 # no comment"
"quoted key" = 1   # yes
a.b."c.d" = [1,
  [2, 3],
  { e = 4, f.g = [
    5] },
]
text = """
fake = 1
[fake]
quote \\""" and \\\\"""
raw = \'\'\'
fake = 2 \'\'\'\'

[permissions]
allow = ["a", # ] not yet
  'b']
[[hooks.pre]]
command = "x"
[hooks.pre.env]
K = "v"
[[hooks.pre]]
command = "y"

[t.u]
when = 1979-05-27 07:32:00
'''


def test_lines_of_toml_are_where_the_keys_stand():
    rows = TOML.split("\n")
    lines = key_lines(TOML)

    assert {key: rows[line - 1] for key, line in lines.items() if key[-1] in ("K", "when")} == {
        ("hooks", "pre", 0, "env", "K"): 'K = "v"',
        ("t", "u", "when"): "when = 1979-05-27 07:32:00",
    }
    assert lines["quoted key",] == 3
    assert lines["a", "b", "c.d", 1, 0] == 5
    assert lines["a", "b", "c.d", 2, "f", "g", 0] == 7
    assert lines["raw",] == rows.index("raw = '''") + 1
    assert lines["permissions", "allow", 1] == rows.index("  'b']") + 1
    assert lines["hooks", "pre", 1, "command"] == rows.index('command = "y"') + 1
    assert ("fake",) not in lines


def test_every_value_of_a_toml_file_has_a_line():
    lines = key_lines(TOML)

    missing = [key for key, _ in leaves(tomllib.loads(TOML), ()) if key not in lines]

    assert missing == []


def test_yaml_has_the_same_keys_and_lines():
    value, lines = yaml_values.parse(
        "commands:\n  enabled: true\n  max_output_lines: 50\n"
        "permissions:\n  deny:\n    - edit_file(a)\n    - {rule: b,\n       examples: [c]}\n"
        "freshness: off\nheartbeat_s: 2.5\nquoted: '12'\nempty:\nneg: -3\n"
    )

    assert value == {
        "commands": {"enabled": True, "max_output_lines": 50},
        "permissions": {"deny": ["edit_file(a)", {"rule": "b", "examples": ["c"]}]},
        "freshness": "off",
        "heartbeat_s": 2.5,
        "quoted": "12",
        "empty": None,
        "neg": -3,
    }
    assert lines["commands", "max_output_lines"] == 3
    assert lines["permissions", "deny", 1, "examples", 0] == 8


BOMBS = {
    "billion laughs": "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n",
    "an anchor alone": "a: &a 1\n",
    "merge": "a: {x: 1}\nb:\n  <<: *a\n",
    "a tag": "mode: !!python/object/apply:os.system ['true']\n",
    "a local tag": "mode: !env HOME\n",
    "deep flow": "a: " + "[" * 20_000,
    "deep block": "- " * 20_000,
    "deep pairs": "{a: " * 10_000,
    "keys that are lists": "? [a]\n: b\n",
    "twice": "mode: plan\nmode: bypass\n",
    "two documents": "mode: plan\n---\nmode: bypass\n",
    "no end": "a: 'x",
    "a control character": "a: \x01\n",
    "no such character": 'a: "\\UFFFFFFFF"\n',
    "a long number": "%YAML 1." + "9" * 5000 + "\n---\na: 1\n",
    "too long": "a: 1\n" * (yaml_values.MAX_CHARS // 5 + 1),
}


@pytest.mark.parametrize("name", BOMBS)
def test_hostile_yaml_is_refused(place, name):
    path = place.project(BOMBS[name], "config.yaml")

    with pytest.raises(ProblemRaised) as raised:
        place.load()

    assert raised.value.problem.code == "invalid_arguments"
    assert str(path) in str(raised.value)


def test_a_long_number_in_yaml_is_text():
    value, _ = yaml_values.parse("a: " + "9" * 5000)

    assert value == {"a": "9" * 5000}


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 5000 + "]" * 5000,
        "a" + ".a" * 100_000 + " = 1",
        "x = {a" + ".a" * 100_000 + " = 1}",
        "[a" + ".a" * 100_000 + "]",
    ],
    ids=["nested", "dotted", "dotted inside", "dotted table"],
)
def test_hostile_toml_is_refused_soon(place, text):
    place.project(text)

    with pytest.raises(ProblemRaised, match="is not valid"):
        place.load()


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("config.toml", "mode = 'plan'\nnetwork = \n", 2),
        ("config.toml", "a = 1\na = 2\n", 2),
        ("config.toml", "a = '''\nno end", 2),
        ("config.yaml", "mode: plan\nnetwork: [\n", 3),
        ("config.yaml", "mode: plan\n  network: true\n", 2),
        ("config.yaml", "- mode\n", 1),
    ],
)
def test_an_error_names_the_file_and_the_line(place, name, text, line):
    path = place.project(text, name)

    with pytest.raises(ProblemRaised) as raised:
        place.load()

    assert f"{path}:{line} " in str(raised.value)


@pytest.mark.parametrize("layer", ["own", "project"])
@pytest.mark.parametrize("kind", ["directory", "fifo", "huge", "latin-1", "no end"])
def test_a_file_that_cannot_be_read_is_an_error(place, layer, kind):
    path = place.own if layer == "own" else place.root / ".handrail" / "config.toml"
    match kind:
        case "directory":
            path.mkdir()
        case "fifo":
            os.mkfifo(path)
        case "huge":
            path.write_bytes(b"#" * (MAX_BYTES + 1))
        case "latin-1":
            path.write_bytes(b"# caf\xe9\n")
        case "no end":
            path.symlink_to(path.name)

    with pytest.raises(ProblemRaised) as raised:
        place.load()

    assert str(path) in str(raised.value)


def test_a_link_of_the_person_that_leads_nowhere_is_an_error(place):
    place.own.symlink_to("gone.toml")

    with pytest.raises(ProblemRaised, match="the symbolic link is broken"):
        place.load()


def test_the_persons_own_file_may_be_a_link(place, tmp_path):
    (tmp_path / "dotfiles.toml").write_text("mode = 'plan'\n")
    place.own.symlink_to(tmp_path / "dotfiles.toml")

    assert place.load().settings.mode == "plan"


@pytest.mark.parametrize("what", ["file", "folder", "chain", "nowhere"])
def test_a_link_out_of_the_workspace_is_refused(place, tmp_path, what):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "config.toml").write_text("mode = 'plan'\n")
    folder = place.root / ".handrail"
    match what:
        case "file":
            (folder / "config.toml").symlink_to(outside / "config.toml")
        case "folder":
            folder.rmdir()
            folder.symlink_to(outside)
        case "chain":
            (place.root / "step").symlink_to(outside)
            (folder / "config.toml").symlink_to("../step/config.toml")
        case "nowhere":
            (folder / "config.toml").symlink_to(outside / "gone.toml")

    with pytest.raises(ProblemRaised) as raised:
        place.load()

    assert raised.value.problem.code == "outside_workspace"


def test_a_link_that_stays_inside_is_followed(place):
    (place.root / "shared.toml").write_text("mode = 'plan'\n")
    (place.root / ".handrail" / "config.toml").symlink_to("../shared.toml")

    assert place.load().settings.mode == "plan"


def test_two_files_of_one_layer_are_refused(place):
    place.project("mode = 'plan'\n")
    place.project("mode: default\n", "config.yaml")

    with pytest.raises(ProblemRaised, match=r"both \.handrail/config\.toml and"):
        place.load()


def test_a_file_in_the_folders_place_is_no_configuration(place):
    (place.root / ".handrail").rmdir()
    (place.root / ".handrail").write_text("mode = 'plan'\n")

    assert place.load().settings.mode == "default"
