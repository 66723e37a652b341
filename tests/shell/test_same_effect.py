"""The class of a command follows its effect, whichever program causes it."""

import pytest
from tests.support.commands import ROOT, WHERE, parser

from handrail.core.commands import CommandClass
from handrail.shell.analyzer import ShellCommandAnalyzer


def safety_class(command, **changes):
    where = WHERE._replace(**changes)
    analyzer = ShellCommandAnalyzer(parser(), lambda cwd: where._replace(cwd=cwd))
    return analyzer.analyze(command, cwd=ROOT, env={}).safety_class


@pytest.mark.finding("F15")
@pytest.mark.parametrize(
    "command",
    [
        "rm -rf .",
        "rm -rf *",
        "find . -delete",
        "find -delete",
        "find . -type f -delete",
        "find . -exec rm -rf {} +",
        "find . -type f -exec truncate -s 0 {} +",
        "find . | xargs rm -rf",
        "ls | xargs rm -rf",
        "git ls-files | xargs rm",
        "git ls-files | xargs sed -i s/a/b/",
        "for f in *; do rm -rf $f; done",
        "git clean -fdx",
        "git checkout -- .",
        "git restore .",
        "truncate -s 0 *",
        "sed -i s/a/b/ *",
        "rimraf .",
        "zip -rm x.zip .",
    ],
)
def test_emptying_or_overwriting_the_workspace_is_dangerous(command):
    assert safety_class(command) is CommandClass.DANGEROUS


@pytest.mark.finding("F15")
@pytest.mark.parametrize(
    "command",
    [
        "rm -rf build",
        "find build -delete",
        "find . -name '*.pyc' -delete",
        "find . -name '*.o' -exec rm {} +",
        "git ls-files '*.pyc' | xargs rm",
        "grep -rl foo . | xargs sed -i s/foo/bar/",
        "git restore src/a.py",
        "sed -i s/a/b/ src/*.py",
        "rimraf dist",
    ],
)
def test_named_or_narrowed_files_are_work_on_the_project(command):
    assert safety_class(command) is CommandClass.DEV


@pytest.mark.finding("F08")
@pytest.mark.parametrize("command", ["ps aux", "pgrep -fa x", "lsof -i", "w", "pstree -a"])
def test_the_arguments_of_others_are_shown_only_where_the_sandbox_hides_them(command):
    assert safety_class(command, hides_processes=lambda: True) is CommandClass.SAFE
    assert safety_class(command, hides_processes=lambda: False) is CommandClass.DANGEROUS


@pytest.mark.finding("F08")
@pytest.mark.parametrize(
    "command",
    [
        "find . $'-delete'",
        "find . $'\\x2ddelete'",
        'find . $"-delete"',
        "rg $'--pre=sh' x",
        'sort -"o" out in',
        "sed $'-i' s/a/b/ f",
        "git $'-calias.x=!id' x",
        "awk 'BEGIN{sys''tem(\"id\")}'",
    ],
)
def test_options_are_read_after_every_kind_of_quotes(command):
    assert safety_class(command) is not CommandClass.SAFE


@pytest.mark.finding("F09")
@pytest.mark.parametrize(
    "command",
    [
        "printf 'all:\\n\\trm -rf /\\n' > Makefile; make -f Makefile",
        "printf 'all:\\n\\trm -rf /\\n' > ./Makefile; make -f Makefile",
        "printf 'all:\\n\\trm -rf /\\n' > Makefile; make -f sub/../Makefile",
        f"printf 'all:\\n\\trm -rf /\\n' > {ROOT}/Makefile; make -f Makefile",
        "printf 'shell rm -rf /\\n' > x; gdb -batch -x x",
        "echo 'rm -rf /' > x; BASH_ENV=./x bash -c true",
    ],
)
def test_a_file_that_was_just_written_is_read_by_any_spelling_of_its_path(command):
    assert safety_class(command) is CommandClass.BLOCKED
