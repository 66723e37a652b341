"""Recognizes commands that run tests.

A command that may not be a test run is not counted as one, so that untested changes are not accepted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from handrail.core.commands import CommandAnalysis

# Program → words of which one must be among its first arguments; empty: the program alone suffices.
_RUNNERS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(
        (
            *("pytest", "py.test", "tox", "nox", "nose2", "behave", "jest", "vitest", "mocha"),
            *("ava", "karma", "jasmine", "cypress", "gotestsum", "rspec", "cucumber", "phpunit"),
            *("pest", "ctest", "bats", "prove", "busted", "elm-test"),
        ),
        (),
    ),
    **dict.fromkeys(
        (
            *("npm", "yarn", "pnpm", "bun", "deno", "go", "cargo", "dotnet", "swift", "zig"),
            *("flutter", "dart", "mix", "sbt", "stack", "cabal", "lein", "composer", "bazel"),
            *("meson", "ninja", "rails", "hatch", "pixi", "turbo", "nx", "forge", "terraform"),
            *("playwright", "rebar3", "dune", "gleam", "task", "invoke", "mise", "poe", "artisan"),
        ),
        ("test",),
    ),
    **dict.fromkeys(
        ("make", "gmake", "just", "rake", "gradle", "gradlew", "ant"), ("test", "check", "spec")
    ),
    **dict.fromkeys(("mvn", "mvnw"), ("test", "verify", "install")),
}
_MODULES: Final = frozenset(("pytest", "unittest", "nose2", "tox", "nox", "behave", "django"))
# Programs that run the program named after them, with the subcommand that does so.
_PREFIXES: Final = {
    **dict.fromkeys(("uv", "poetry", "pipenv", "pdm", "hatch", "rye", "conda", "pixi"), "run"),
    **dict.fromkeys(("pnpm", "yarn", "bundle", "npm", "composer", "mise"), "exec"),
    **dict.fromkeys(("npx", "bunx", "pnpx", "xvfb-run"), ""),
}
_SCRIPT: Final = re.compile(
    r"(?:run[-_]?)?(?:unit[-_]?)?(?:tests?|specs?)(?:\.(?:sh|py|js|ts|rb))?"
)
_TESTS: Final = re.compile(r"(?:.*[:_-])?(?:unit)?tests?(?:[:_-].*)?|t|tst|nextest|testall", re.I)
# Options with which a test program runs no tests.
_IDLE: Final = frozenset(
    (
        *("--help", "-h", "--version", "-V", "--collect-only", "--co", "--list", "--listTests"),
        *("--list-tests", "--no-run", "--dry-run", "--just-print", "--fixtures", "--markers"),
        *("--showConfig", "-DskipTests"),
    )
)
# Operators after which the exit code of the command may not be that of the tests.
_JOINTS: Final = re.compile(r"[;|\n!]|&(?!&)|\|\|")
_HARMLESS: Final = re.compile(r"&&|\d?>&\d|&>>?")


def runs_tests(analysis: CommandAnalysis) -> bool:
    """Whether a successful exit of the command means that tests have passed."""
    if analysis.effects.background or any(one.substitutes for one in analysis.segments):
        return False
    if _JOINTS.search(_HARMLESS.sub(" ", analysis.text.strip())):
        return False
    return any(_is_test(part.words) for part in analysis.parts)


def _is_test(words: Sequence[str | None]) -> bool:
    given = [word for word in words if word is not None]
    if len(given) < len(words) and words[0] is None:
        return False
    name, rest = _name(given[0]) if given else "", given[1:]
    while name in _PREFIXES and _PREFIXES[name] in ("", *rest[:1]):
        rest = rest[1:] if _PREFIXES[name] else rest
        rest = _without_options(rest)
        name, rest = (_name(rest[0]), rest[1:]) if rest else ("", [])
    return not _IDLE.intersection(rest) and _runs(name, rest)


def _runs(name: str, rest: Sequence[str]) -> bool:
    operands = _without_options(rest)
    if re.fullmatch(r"python[\d.]*|pypy3?|py", name):
        return _python(rest)
    if name in ("bash", "sh", "node", "ruby", "php", "perl", "deno", "tsx"):
        if name == "node" and "--test" in rest:
            return True
        return bool(operands) and _runs(_name(operands[0]), operands[1:])
    if name in _RUNNERS:
        return _names_tests(name, rest)
    return _SCRIPT.fullmatch(name) is not None and name != "test"


def _names_tests(name: str, rest: Sequence[str]) -> bool:
    wanted = _RUNNERS[name]
    if name in ("make", "gmake") and "-n" in rest:
        return False
    operands = [word for word in rest if not word.startswith("-")][:3]
    return not wanted or any(word in wanted or _TESTS.fullmatch(word) for word in operands)


def _python(rest: Sequence[str]) -> bool:
    if "-m" in rest:
        named = rest[rest.index("-m") + 1 :]
        return bool(named) and named[0].partition(".")[0] in _MODULES
    operands = _without_options(rest)
    if operands and _name(operands[0]) == "manage.py":
        return "test" in operands[1:2]
    return bool(operands) and _SCRIPT.fullmatch(_name(operands[0])) is not None


def _without_options(words: Sequence[str]) -> list[str]:
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 1
    return list(words[at:])


def _name(program: str) -> str:
    return program.rpartition("/")[2]
