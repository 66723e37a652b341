"""Commands that nobody would write: rows of the corpus cut up, quoted, joined and bent."""

import json
import os
import random
import re
from functools import cache

from tests.support.commands import CORPUS, ROOT, WHERE, rows
from tests.support.recheck import Suspicious, recheck

from handrail.core.commands import CommandClass, UnreadableCommand
from handrail.host.processes.binaries import find_binary
from handrail.shell.analyzer import ShellCommandAnalyzer

READ_ONLY = CORPUS.parent / "commands" / "read_only.jsonl"
_JOINS = [";", "&&", "||", "|", "&", "\n", "|&", " ", "; ;", " \\\n", ">", "<", ">>", "<<<", "2>&1"]
_WRAPS = [
    "$({})", "`{}`", "<({})", "({})", "{{ {}; }}", '"$({})"', "env {}", "command {}", "xargs {}",
    "bash -c '{}'", "time {}", "if {}; then ls; fi", "! {}", "A=1 {}", "{} &", "{} > /dev/null",
    "for x in a; do {}; done", "echo {}", "{} | cat", "ls -la; {}", "find . -exec {} \\;",
    "nice {}", "eval {}", "f() {{ {}; }}; f", "cat <<X\n{}\nX", "echo {{a,{}}}", "cd src && {}",
]  # fmt: skip
_LETTERS = [
    *"'\"\\`$(){}[]*?~!#;&|<>=-/.,:@%^+ \t\n\rabelorsx01289_",
    *(
        "\x00",
        "\x1b",
        "\x7f",
        "\u200b",
        "\u2066",
        "\u00a0",
        "\uff52",
        "\u0455",
        "é",
        "\ud800",
        "😀",
        "\ue000",
    ),
    *("$'", '$"', "${", "$((", "))", "<(", ">(", "--", " -o ", " -i ", " -exec ", "\\\n", "{a,b}"),
]


def mutants(seed, count):
    """So many commands, always the same for a seed."""
    rng = random.Random(seed)
    safe = [row["command"] for row in rows("commands_safe")] + _programs_in_programs()
    others = [
        row["command"]
        for name in ("commands_dangerous", "commands_dev", "blocked")
        for row in rows(name)
    ]
    words = [word for one in (*safe, *others) for word in re.findall(r"\S+|\s+", one)]
    for _ in range(count):
        command = rng.choice(safe if rng.random() < 0.85 else others)
        for _ in range(rng.choice((1, 1, 1, 2, 3, 5))):
            command = _bent(rng, command, safe, others, words)
        yield command[:4000]


@cache
def _programs_in_programs():
    """Commands with a program of another language in them, and loops."""
    listed = (json.loads(line)["command"] for line in READ_ONLY.read_text().splitlines())
    return [one for one in listed if re.match(r"awk |jq |sh -c|bash -c|while read|for \w+ in", one)]


def _bent(rng, command, safe, others, words):
    place = rng.randrange(len(command) + 1)
    before, after = command[:place], command[place:]
    kind = rng.randrange(9)
    if kind < 3:
        # Inserted, put in another's place, or taken out.
        letter = "" if kind == 2 else rng.choice(_LETTERS)
        return f"{before}{letter}{after[kind and rng.randint(1, 3) :]}"
    if kind == 3:
        other = rng.choice(safe if rng.random() < 0.7 else others)
        return f"{command} {rng.choice(_JOINS)} {other}"
    if kind == 4:
        return rng.choice(_WRAPS).format(command)
    if kind == 5:
        end, quote = rng.randint(0, len(after)), rng.choice("'\"`")
        return f"{before}{quote}{after[:end]}{quote}{after[end:]}"
    parts = re.findall(r"\S+|\s+", command) or [""]
    at = rng.randrange(len(parts))
    parts[at : at + rng.randrange(2)] = [rng.choice(words)]
    return rng.choice(("", " ")).join(parts)


def called_safe(seed, count):
    """Those of the mutants that are called safe."""
    analyzer = ShellCommandAnalyzer(directly(), lambda cwd: WHERE._replace(cwd=cwd))
    for command in mutants(seed, count):
        if analyzer.analyze(command, cwd=ROOT, env={}).safety_class is CommandClass.SAFE:
            yield command


def examine(seed, count):
    """How many mutants were called safe, and what the two opinions disagree about."""
    safe, strange = 0, []
    for command in called_safe(seed, count):
        safe += 1
        try:
            recheck(command, {"PWD": ROOT, "HOME": WHERE.home})
        except Suspicious as doubt:
            strange.append((command, str(doubt)))
    return safe, strange


@cache
def directly():
    """One for the whole process: it holds files open."""
    return Directly()


class Directly:
    """The parser's own program, started without its confinement: half the time of a run."""

    def __init__(self):
        self._command = [find_binary("shfmt", []), "--to-json", "-ln", "bash"]
        self._asked = os.memfd_create("asked")
        self._answer = os.memfd_create("answer")
        self._nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)

    def parse(self, command):
        """The tree of a command; raises `UnreadableCommand`."""
        for place, text in ((self._asked, command.encode() or b"\n"), (self._answer, b"")):
            os.ftruncate(place, 0)
            os.lseek(place, 0, os.SEEK_SET)
            os.pwrite(place, text, 0)
        process = os.posix_spawn(
            self._command[0],
            self._command,
            {"LC_ALL": "C.UTF-8", "GOMAXPROCS": "1"},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, self._asked, 0),
                (os.POSIX_SPAWN_DUP2, self._answer, 1),
                (os.POSIX_SPAWN_DUP2, self._nowhere, 2),
            ],
        )
        _, status = os.waitpid(process, 0)
        if status:
            raise UnreadableCommand("it is no valid command")
        try:
            return json.loads(os.pread(self._answer, 1 << 26, 0))
        except RecursionError as error:
            raise UnreadableCommand("it is too deep to be read") from error
