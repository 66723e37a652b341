"""The file of a hook is an argument, whatever its name and however the command quotes it."""

import subprocess

import pytest

from handrail.core.problems import ProblemRaised
from handrail.hooks.parse import substitute_file_parameter

NASTY = [
    "plain.py",
    "two words.py",
    "$(touch pwned)",
    "`touch pwned`",
    "; touch pwned #",
    '" && touch pwned && "',
    "' ; touch pwned ; '",
    "*",
    "-rf",
    "new\nline",
    "{file}",
    "\\",
    "$1",
]


@pytest.mark.feature("K09")
@pytest.mark.parametrize(
    ("command", "before", "after"),
    [
        ("printf %s {file}", "", ""),
        ('printf %s "{file}"', "", ""),
        ("printf %s '{file}'", "", ""),
        ("printf %s --path={file}", "--path=", ""),
        ('printf %s "a b {file} c"', "a b ", " c"),
        ("printf %s 'a b {file} c'", "a b ", " c"),
        ("printf %s \\'{file}", "'", ""),
        ('printf %s "\\"{file}"', '"', ""),
        ("printf %s x{file}y", "x", "y"),
        ("bash -c 'printf %s \"$0\"' {file}", "", ""),
        ("env printf %s --path={file}", "--path=", ""),
    ],
)
@pytest.mark.parametrize("name", NASTY)
def test_a_file_name_never_becomes_part_of_the_script(tmp_path, command, before, after, name):
    done = subprocess.run(
        ["bash", "-c", substitute_file_parameter(command), "hook", name],
        cwd=tmp_path,
        capture_output=True,
        check=True,
        text=True,
    )

    assert done.stdout == f"{before}{name}{after}"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "command",
    ["echo $(cat {file})", "echo `cat {file}`", "cat <<X\n{file}\nX", "echo $'{file}'",
     'echo ${x:-"{file}"}', "true # it's {file}", "((x=1{file}))", "[[ {file} -eq 1 ]]",
     "sh -c 'ruff check {file}'", 'bash -lc "ls {file}"', "sh -c {file}", 'bash -c "{file}"',
     "eval ls {file}", "ssh host cat {file}", "sed -i s/x/{file}/ a", "sed 's/x/{file}/' a",
     "/usr/bin/python3 -c 'print(\"{file}\")'", "xargs -I% sh -c 'echo {file}' < list",
     "find . -exec sh -c 'cat {file}' ;", "trap 'rm {file}' EXIT", "awk '{print \"{file}\"}' x",
     "env sh -c \\{file}", "echo x | sh -c x{file}", "perl -e {file}"],
)  # fmt: skip
def test_where_it_could_become_code_the_command_is_refused(command):
    with pytest.raises(ProblemRaised) as caught:
        substitute_file_parameter(command)

    assert '"$1"' in caught.value.problem.hint


def test_a_command_without_a_file_stays_as_it_is():
    assert substitute_file_parameter("echo $(date) # now") == "echo $(date) # now"
