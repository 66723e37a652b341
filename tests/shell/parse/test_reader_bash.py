"""Bash itself is asked: do words mean, and do programs run, what we have read?"""

import os
import random
import signal
import subprocess
from contextlib import suppress

import pytest
from tests.support.random_commands import random_command, random_words
from tests.support.shell import flat, tree

from handrail.core.commands import UnreadableCommand
from handrail.shell.parse.braces import expand_braces
from handrail.shell.parse.syntax import SimpleCommand

RECORD = 'command_not_found_handle() { builtin printf \'%s\\0\' "$1" >>"$RAN"; }\n'


def bash(script, cwd, **env):
    """Run a script of ours that can find no program at all, for at most a second."""
    process = subprocess.Popen(
        ["/bin/bash", "--norc", "--noprofile", "-c", "ulimit -t 1\n" + script],
        cwd=cwd,
        env={"LC_ALL": "C.UTF-8", "PATH": "/nonexistent", **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return process.communicate(timeout=10)[0]
    except subprocess.TimeoutExpired:
        return b""
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=30)


def known_words(command):
    """The words of a simple command if all of them are known, else None."""
    try:
        script = tree(command)
    except UnreadableCommand:
        return None
    (statement, *more) = script.statements
    if more or not isinstance(statement.command, SimpleCommand):
        return None
    words = [one for word in statement.command.words for one in expand_braces(word)]
    if any(word.value is None or word.globs or word.tilde for word in words):
        return None
    return [word.value for word in words[1:]]


def compare_words(seed, count, cwd):
    chance = random.Random(seed)
    compared = 0
    for _ in range(count):
        command = "p " + random_words(chance)
        words = known_words(command)
        if words is None:
            continue
        out = bash("p() { [ $# = 0 ] || printf '%s\\0' \"$@\"; }\n" + command, cwd)
        assert (command, out.decode().split("\0")[:-1]) == (command, words)
        compared += 1
    return compared


def compare_programs(seed, count, folder):
    chance = random.Random(seed)
    compared = 0
    empty = folder / "empty"
    empty.mkdir()
    for number in range(count):
        command = random_command(chance)
        try:
            found = flat(command)
        except UnreadableCommand:
            continue
        programs = {one.program for one in found.invocations}
        if found.doubts or found.may_loop_forever or found.functions:
            continue
        if any("\n" in (program or "") for program in programs):
            # Recorded in two pieces, between which another may come.
            continue
        record = folder / f"ran{number}"
        bash(RECORD + command, empty, RAN=str(record))
        ran = record.read_bytes().decode().split("\0")[:-1] if record.exists() else []
        hidden = set(ran) - programs
        assert (command, hidden) == (command, set())
        compared += bool(ran)
    return compared


def test_words_mean_to_bash_what_we_have_read(tmp_path):
    assert compare_words(1, 150, tmp_path) > 50


def test_bash_runs_no_program_that_we_have_not_found(tmp_path):
    assert compare_programs(1, 150, tmp_path) > 25


@pytest.mark.torture
def test_words_mean_to_bash_what_we_have_read_at_length(tmp_path):
    assert compare_words(2, 20_000, tmp_path) > 5_000


@pytest.mark.torture
def test_bash_runs_no_program_that_we_have_not_found_at_length(tmp_path):
    assert compare_programs(2, 20_000, tmp_path) > 2_000
