"""What the text of a command says of secrets, without a look at the files."""

from types import SimpleNamespace

import pytest

from handrail.core.commands import CommandAnalysis, CommandClass, CommandEffects, CommandPart
from handrail.core.ports.processes import Confinement, Strength
from handrail.core.ports.read_denials import HiddenPaths
from handrail.policy.denials.secret_exposure import SecretExposure, is_brief


def look():
    raise AssertionError("the text gives the answer")


def analysis(*words, reads=(), safety_class=CommandClass.SAFE):
    parts = (CommandPart(words, " ".join(word or "?" for word in words), safety_class),)
    return CommandAnalysis(safety_class, (), CommandEffects(reads=reads), parts=parts)


@pytest.mark.threat("A49")
@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (analysis("true"), False),
        (analysis("cat", "a.txt", reads=("/w/a.txt",)), False),
        (analysis("cat", ".env", reads=("/w/.env",)), True),
        (analysis("git", "show", "HEAD:.env"), True),
        (analysis("ls", ".*"), True),
        # These depend on the files that exist.
        (analysis("cat", None), None),
        (analysis("grep", "-r", "x", reads=("/w/",)), None),
        (analysis("make", safety_class=CommandClass.DANGEROUS), None),
    ],
    ids=["nothing", "file", "secret", "revision", "glob", "unknown", "tree", "dangerous"],
)
def test_the_text_gives_the_answer_where_files_do_not_matter(command, shown):
    assert SecretExposure(look, ("/w",), None).may_show_by_text(command) is shown


def test_only_few_short_words_are_brief():
    assert is_brief(analysis("cat", "a.txt", None, reads=("/w/a.txt",)))
    assert not is_brief(analysis("cat", "a" * 2000))
    assert not is_brief(analysis("cat", *["a"] * 1000))
    assert not is_brief(analysis("cat", *[None] * 2000))
    assert not is_brief(analysis("cat", reads=tuple(f"/w/{number}" for number in range(500))))


SEARCH = analysis("grep", "-r", "x", reads=("/w/",))
BELOW = analysis("grep", "-r", "x", reads=("/w/src/",))
GLOB = analysis("cat", "a", reads=("/w/src/*",))
OUTSIDE = analysis("grep", "-r", "x", reads=("/usr/",))
ANYTHING = analysis("make", safety_class=CommandClass.DANGEROUS)
TRACKED = analysis("git", "grep", "x", reads=("/w/",))
UNTRACKED = analysis("git", "grep", "--untracked", "x", reads=("/w/",))
OPEN = Confinement(("/w",))


def exposure(*paths, complete=True, gap=None, closes=True, hides=True):
    sandbox = SimpleNamespace(
        measured={"fs_read": Strength.ENFORCED if closes else None},
        hiding_gap=lambda confinement: None if hides else "no",
    )
    found = HiddenPaths(tuple(paths), gap, complete)
    return SecretExposure(lambda: found, ("/w",), sandbox)


@pytest.mark.threat("A49")
@pytest.mark.parametrize(
    ("command", "confinement", "given", "shown"),
    [
        # The text decides.
        (analysis("cat", ".env"), OPEN, {}, True),
        (analysis("cat", "a.txt"), OPEN, {"paths": ["/w/.env"]}, False),
        # A search shows the secrets that are below its directory.
        (SEARCH, OPEN, {}, False),
        (SEARCH, OPEN, {"paths": ["/w/.env"]}, True),
        (BELOW, OPEN, {"paths": ["/w/.env"]}, False),
        (BELOW, OPEN, {"paths": ["/w/src/.env"]}, True),
        (BELOW, OPEN, {"paths": ["/w/src2/.env"]}, False),
        (GLOB, OPEN, {"paths": ["/w/src/.env"]}, True),
        (GLOB, OPEN, {"paths": ["/w/.env"]}, False),
        (SEARCH, OPEN, {"complete": False}, True),
        # Within the workspace it does not matter whether the rest is closed.
        (SEARCH, OPEN, {"closes": False}, False),
        (OUTSIDE, OPEN, {"closes": False}, True),
        (OUTSIDE, OPEN, {}, False),
        (OUTSIDE, OPEN._replace(off=True), {}, True),
        # A program that may read anything.
        (ANYTHING, OPEN, {"closes": False}, True),
        (ANYTHING, OPEN, {}, False),
        (ANYTHING, OPEN, {"paths": ["/w/.env"]}, True),
        # Files that are hidden from the program, if the sandbox can hide them.
        (ANYTHING, OPEN._replace(hidden=("/w/.env",)), {"paths": ["/w/.env"]}, False),
        (ANYTHING, OPEN._replace(denied_reads=("/w/.env",)), {"paths": ["/w/.env"]}, False),
        (ANYTHING, OPEN._replace(denied_reads=("/w",)), {"paths": ["/w/.env"]}, False),
        (
            ANYTHING,
            OPEN._replace(denied_reads=("/w/.env",)),
            {"paths": ["/w/.env"], "hides": False},
            True,
        ),
        # Git reads what it tracks.
        (TRACKED, OPEN, {"paths": ["/w/.env"]}, False),
        (TRACKED, OPEN, {"paths": ["/w/.env"], "gap": "tracked"}, True),
        (TRACKED, OPEN, {"complete": False}, False),
        (UNTRACKED, OPEN, {"paths": ["/w/.env"]}, True),
    ],
)
def test_the_files_that_exist_decide_about_searches(command, confinement, given, shown):
    given = dict(given)
    secrets = exposure(*given.pop("paths", ()), **given)

    assert secrets.may_show(command, confinement) is shown


@pytest.mark.parametrize(
    ("given", "shows"),
    [
        ({}, False),
        ({"complete": False}, True),
        ({"closes": False}, True),
        ({"hides": False}, True),
    ],
)
def test_hidden_files_are_shown_where_hiding_has_a_gap(given, shows):
    found = exposure("/w/.env", "/w/a", **given).hide(OPEN._replace(denied_reads=("/w/a",)))

    assert found.denied_reads == ("/w/a", "/w/.env")
    assert found.shows_secrets is shows
