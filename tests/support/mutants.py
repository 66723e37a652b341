"""Commands that nobody would write: rows of the corpus cut up, quoted, joined and bent."""

import random
import re

from tests.support.commands import ROOT, WHERE, parser, rows
from tests.support.recheck import Suspicious, recheck

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
    safe = [row["command"] for row in rows("commands_safe")]
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


def examine(seed, count):
    """What the two opinions disagree about, and how many were called safe."""
    from handrail.core.commands import CommandClass
    from handrail.shell.judge import Judge

    judge = Judge(parser(), lambda cwd: WHERE._replace(cwd=cwd))
    safe, strange = 0, []
    for command in mutants(seed, count):
        judged = judge.judge(command, cwd=ROOT, env={})
        if judged.klass is not CommandClass.SAFE:
            continue
        safe += 1
        try:
            recheck(command)
        except Suspicious as doubt:
            strange.append((command, str(doubt)))
    return safe, strange
