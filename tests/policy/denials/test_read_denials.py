"""What denies about reading withhold: the same paths that a read of their own would be denied."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.policy.rule_support import DENY, CommandClass, call, command, effect, rules

from handrail.core.problems import ProblemRaised
from handrail.policy.denials.read_denials import ReadDenyPattern, build_read_denials
from handrail.policy.rules.paths.pattern import PathBase


def withheld(*texts, **given):
    return build_read_denials(rules(*texts, **given))


def test_without_a_deny_about_reading_nothing_is_withheld():
    others = ("deny write_file(a)", "ask read_file(a)", "allow read_file(a)", "deny read_file")

    assert withheld(*others) is None


@pytest.mark.parametrize("tool", ["read_file", "grep", "file_info", "list_files", "find_files"])
def test_a_deny_of_any_reading_tool_withholds(tool):
    assert withheld(f"deny {tool}(.env)").hides("/ws/.env")


@pytest.mark.parametrize(
    "path",
    [
        *("/ws/.env", "/ws/.ENV", "/ws/.Env", "/ws/a/b/.env", "/other/.env", "/ws/.env/x"),
        *("/ws/.env.", "/ws/.env ", "/ws/.e\u200cnv"),
    ],
)
def test_every_spelling_is_withheld(path):
    assert withheld("deny read_file(.env)").hides(path)


@pytest.mark.parametrize("path", ["/ws/.envrc", "/ws/env", "/ws/x.env", "/ws/.env2/a", "/ws"])
def test_a_neighbour_is_not(path):
    assert not withheld("deny read_file(.env)").hides(path)


def test_patterns_of_others_are_withheld_with_their_place():
    both = build_read_denials(
        rules("deny read_file(.env)"), [ReadDenyPattern("keys/*.pem", "settings.toml:3")]
    )

    assert both.hides("/ws/keys/a.pem")
    assert both.hides("/ws/.env")
    assert {glob.origin for glob in both.globs} == {"the user rules", "settings.toml:3"}
    assert build_read_denials(rules(), [ReadDenyPattern("a", "x")]).hides("/other/b/a")


def test_a_pattern_that_cannot_be_read_names_its_place():
    with pytest.raises(ProblemRaised, match=r"'a/\.\./b' in settings.toml:3"):
        build_read_denials(rules(), [ReadDenyPattern("a/../b", "settings.toml:3")])


def test_links_are_followed_when_the_rules_are_made():
    led = {"/ws/secrets": "/srv/vault"}
    path_base = PathBase(("/ws",), "/home/me", lambda path: led.get(path, path))

    assert withheld("deny read_file(secrets/**)", path_base=path_base).hides("/srv/vault/key")


def test_floating_patterns_are_told_from_those_that_name_a_place():
    both = withheld("deny read_file(*.pem)", "deny read_file(//etc/keys/*.key)")

    assert both.anchored.hides("/etc/keys/a.key")
    assert not both.anchored.hides("/etc/ssl/a.pem")
    assert withheld("deny read_file(*.pem)").anchored is None
    assert [glob.floating for glob in both.globs] == [True, False]


def test_a_command_is_minded_if_it_may_read_what_is_withheld():
    secret = withheld("deny read_file(secrets/**)")

    def minds(**given):
        return secret.may_affect(command("x", safety_class=CommandClass.SAFE, **given).command)

    assert minds(reads=("/ws/",))
    assert minds(open_ended=True)
    assert not minds(reads=("/ws/src/a",))


NAMES = [
    "a",
    "B",
    ".env",
    ".ENV",
    "key.pem",
    "Secrets",
    "x y",
    "\u00e9",
    "e\u0301",
    "k\u212a",
    "d.",
]
PATHS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map(
    lambda names: "/ws/" + "/".join(names)
)
PATTERNS = st.sampled_from(
    [
        *(".env", "*.pem", "secrets/**", "a/*", "**/b/.env", "a/**/key.pem", "/a", "{a,b}/x y"),
        *("\u00e9", "[ab]/d", "?", "~/x", "//ws/a", "secrets/", "**", "a/b/.env", "K\u212a"),
    ]
)


@given(st.lists(PATTERNS, min_size=1, max_size=3), PATHS)
def test_what_is_withheld_is_what_a_read_would_be_denied(patterns, path):
    texts = [f"deny read_file({pattern})" for pattern in patterns]
    denied = effect(rules(*texts), call("read_file", path)) == DENY

    assert withheld(*texts).hides(path) is denied


@given(st.lists(PATTERNS, min_size=1, max_size=3), PATHS)
def test_a_walk_that_asks_from_the_top_down_finds_everything_withheld(patterns, path):
    asked = withheld(*(f"deny read_file({pattern})" for pattern in patterns))
    names = path.split("/")[1:]
    folder = ""
    for name in names:
        below = f"{folder}/{name}"
        if asked.hides(below):
            assert asked.ends(name)
            assert folder == "" or asked.reaches(folder)
            return
        folder = below
    assert not asked.hides(path)
