"""What the smallest shell may run instead of bash: only what means the same to both."""

import subprocess

import pytest

from handrail.shell.parse.trivial import same_in_any_shell


@pytest.mark.parametrize(
    "command", ["true", "ls -la", "git status -s | head -5", "cat a.txt", "/bin/ls", "sort a|uniq"]
)
def test_programs_and_pipes_are_alike(command):
    assert same_in_any_shell(command)


@pytest.mark.parametrize(
    "command",
    [
        "echo -e a", "pwd", "cd a", "ls; ls", "ls $x", "ls *", "a=b ls", "time ls", "ls > a",
        "test -e a", "[ a ]", "printf a", "ls\nls", "ls && ls", "cat a | read b", "'ls'", "",
    ],
)  # fmt: skip
def test_whatever_a_shell_does_itself_is_left_to_bash(command):
    assert not same_in_any_shell(command)


@pytest.mark.parametrize(
    "command", ["true", "false", "ls a.txt | wc -l", "no-such-program", "cat a.txt"]
)
def test_both_answer_alike(command, tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    answers = [
        subprocess.run([*shell, "-c", command], cwd=tmp_path, capture_output=True, check=False)
        for shell in (["sh"], ["bash", "--norc", "--noprofile"])
    ]

    assert answers[0].stdout == answers[1].stdout
    assert answers[0].returncode == answers[1].returncode
