"""The words that programs get in the simulated shell are those that bash gives them."""

import subprocess

import pytest
from tests.support.commands import WHERE, parser

from handrail.shell.expand import UNSET, plain_text
from handrail.shell.parse.reader import parse_command
from handrail.shell.simulate.simulator import simulate_command

# Each runs `probe` with words that only the values of the shell decide.
SCRIPTS = [
    "probe a b",
    "x=1; probe $x",
    "x='a b'; probe $x; probe \"$x\"",
    "for i in 1 2 3; do probe $i; done",
    "for i in a 'b c'; do probe \"$i\"; done",
    "set -- p q; for i; do probe $i; done",
    "for i in 1 2; do for j in x y; do probe $i $j; done; done",
    'f() { probe "$1" $#; }; f a b; f',
    'f() { g "$@" z; }; g() { probe "$@"; }; f \'a b\' c',
    'f() { shift; probe "$@"; }; f a b c',
    "f() { local v=$1; probe $v; }; f x",
    "a=(1 '2 3'); probe \"${a[@]}\"",
    'a=(1); a+=(2); probe "${a[@]}"',
    "x=1; x+=2; probe $x",
    "x=1; (x=2; probe $x); probe $x",
    "x=1; { x=2; }; probe $x",
    'x=$(echo a b); probe $x; probe "$x"',
    "x=`echo a`; probe $x",
    "probe $(printf '%s\\n' a b)",
    "echo one two | while read a b; do probe $b $a; done",
    "printf 'a\\nb\\n' | while read -r x; do probe $x; done",
    "while read x; do probe $x; done <<< 'v w'",
    "while read x; do probe $x; done <<E\n1\n2\nE",
    "x=5; cat <<E | while read y; do probe $y; done\nv $x\nE",
    "cat <<'E' | while read -r y; do probe \"$y\"; done\nv $x\nE",
    "read x <<< 'a b'; probe \"$x\"",
    "IFS=: read a b <<< 'x:y'; probe $a $b",
    'echo text > f; probe "$(cat f)"',
    "echo one > f; echo two >> f; while read x; do probe $x; done < f",
    "eval 'probe a'; eval probe b",
    "x='probe c'; $x; eval \"$x\"",
    "env probe a; command probe b; nohup probe c",
    'bash -c \'probe "$0" "$1"\' n m',
    "sh -c 'probe a; probe b'",
    "printf '%s\\n' a b | xargs probe",
    "printf '%s\\n' a b | xargs -I{} probe x{}",
    'cd /; probe "$PWD"; cd usr; probe $PWD',
    "true && probe a; false || probe b",
    "probe a | cat; probe b",
    "x=a; y=$x$x; probe $y",
    "declare -A m=([k]=v); probe ${m[k]}",
    "declare -n r=t; t=1; probe $r",
    'export V=1; probe $V; unset V; probe "[$V]"',
    "x=abc; probe ${x:1} ${#x} ${x/b/_}",
    "probe \"a  b\" 'c$d' e\\ f",
    "probe {a,b}c",
    "alias p=probe; probe 1",
    "mapfile -t l <<< $'x\\ny'; probe \"${l[1]}\"",
    "probe a 2>/dev/null; probe b >/dev/null",
]


def by_bash(script, folder):
    """The words of each `probe` that bash runs, in order."""
    program = folder / "bin" / "probe"
    program.parent.mkdir()
    program.write_text(f"#!/bin/bash\nIFS=$'\\x1f'; printf '%s\\x1e' \"$*\" >> {folder}/log\n")
    program.chmod(0o755)
    work = folder / "work"
    work.mkdir()
    subprocess.run(
        ["bash", "-c", script],
        cwd=work,
        env={"PATH": f"{program.parent}:/usr/bin:/bin", "HOME": "/home/u"},
        input="",
        text=True,
        timeout=20,
        capture_output=True,
        check=False,
    )
    rows = (folder / "log").read_text().split("\x1e")[:-1]
    return [row.split("\x1f") for row in rows]


def simulated(script):
    def parse(text):
        return parse_command(text, parser())

    found = simulate_command(parse(script), WHERE, {}, parse).invocations
    return [list(map(shown, one.words[1:])) for one in found if one.program == "probe"]


def shown(word):
    text = word.source if word.value is None else word.value
    return plain_text(text).replace(UNSET, "")


@pytest.mark.parametrize("script", SCRIPTS)
def test_programs_get_the_words_that_bash_gives_them(tmp_path, script):
    expected = by_bash(script, tmp_path)
    found = simulated(script)

    assert expected
    # The simulation may take one more round of a loop.
    assert set(map(tuple, expected)) == set(map(tuple, found))
