"""Paths that a search found may be handed on; text that somebody wrote may not."""

import pytest
from tests.support.commands import ROOT, WHERE, parser

from handrail.core.commands import CommandClass
from handrail.shell.analyzer import ShellCommandAnalyzer

ANALYZER = ShellCommandAnalyzer(parser(), lambda cwd: WHERE._replace(cwd=cwd))
# As it is fed to another program, and as its arguments.
WAYS = ["{} | xargs cat", "cat $({})"]


def safety_class(command):
    return ANALYZER.analyze(command, cwd=ROOT, env={}).safety_class


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "search",
    [
        "find . -name '*.py' -print",
        "find . -type f -name '*.md' | head -5 | sort",
        "ls -1 src | grep -v test",
        "fd -e py",
        "rg -l TODO src",
        "rg --files | sed -n 1,5p",
        "grep -rl TODO src",
        "git ls-files | sort -u | tail -n 3",
        "git diff --name-only HEAD~1",
        "git ls-files | tr '\\n' ' '",
    ],
)
def test_what_a_search_prints_may_be_read(search, way):
    assert safety_class(way.format(search)) is CommandClass.SAFE


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "text",
    [
        "echo /etc/hosts",
        "cat list",
        "ls | cat list",
        "ls | head -1 list",
        "ls | grep -h . list",
        "ls | grep -rh .",
        "find . -printf /etc/hosts",
        "find . -ls",
        "find . -exec echo /etc/hosts ';'",
        "fd --format /etc/hosts",
        "ls -l --time-style=+/etc/hosts",
        "grep -e -l list",
        "grep -A1l x list",
        "grep -l x --label=/etc/hosts",
        "rg -r /etc/hosts -o x",
        "rg --path-separator=x -l y",
        "git ls-files --format=/etc/hosts",
        "git log --name-only",
        "git diff --name-only --line-prefix=/etc/",
        "git diff --name-only -p",
        "git ls-files | sed s,^,/etc/,",
        "git ls-files | tr a /",
        "git ls-files | grep -o /etc.*",
        "ls | base64 -d",
        "ls | cut -c2-",
        "ls | paste -sd/",
    ],
)
def test_what_somebody_wrote_may_not(text, way):
    assert safety_class(way.format(text)) > CommandClass.SAFE


def test_a_file_in_the_place_of_what_is_fed_is_no_search():
    assert safety_class("ls | cat 2>/dev/null | xargs cat") is CommandClass.SAFE
    assert safety_class("ls | cat < list | xargs cat") > CommandClass.SAFE


@pytest.mark.finding("F10")
@pytest.mark.parametrize(
    "search",
    [
        "ls -a",
        "ls -1A src",
        "find .",
        "find . -type f",
        "find . -type f -not -path './.git/*'",
        "find src -maxdepth 1 -name '.*'",
        "fd -H",
        "fd --hidden .",
        "rg --files --hidden",
        "rg -uu --files",
        "git ls-files --others",
        "grep -rl .",
    ],
)
@pytest.mark.parametrize("way", WAYS)
def test_whoever_lists_hidden_files_does_not_print_them_all_unasked(search, way):
    assert safety_class(way.format(search)) > CommandClass.SAFE


@pytest.mark.finding("F10")
@pytest.mark.parametrize(
    "way", ["{} | xargs grep -l x", "grep -n x $({})", "wc -l $({})", "ls -ld $({})"]
)
@pytest.mark.parametrize("search", ["find . -type f", "ls -a"])
def test_searching_and_measuring_all_files_is_safe(search, way):
    assert safety_class(way.format(search)) is CommandClass.SAFE


def test_the_files_of_a_listing_are_among_what_is_read():
    for command in ("cat $(ls -a)", "ls | xargs cat", "cat $(ls)"):
        reads = ANALYZER.analyze(command, cwd=ROOT, env={}).effects.reads
        assert f"{ROOT}/" in reads
