"""k. Two hundred rules and twenty guardrails, beside a bare check of the same out of a dictionary,
and beside a call.

The bare check does no more than its name: the rules of a tool are looked up, each pattern is
tried with fnmatch, as the beginning of a text or as an expression, counts are compared with the
limits, and the strictest answer counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import handrail
from bench.figure import REPEATING, Figure, Scale, figure, interleave
from handrail.core.commands import CommandAnalysis, CommandClass, CommandEffects, CommandPart
from handrail.core.footprint import Footprint, reading, writing
from handrail.core.verdicts import Effect, Risk
from handrail.policy.clearance import Clearance
from handrail.policy.guardrails.guard import Guardrails
from handrail.policy.guardrails.section import parse_guardrails
from handrail.policy.modes import Mode
from handrail.policy.policy_input import PolicyInput
from handrail.policy.rules.parse import parse_rule
from handrail.policy.rules.paths.pattern import PathBase
from handrail.policy.rules.rule_set import RuleSet

ROOT = "/srv/person/project"
WRITERS = ("write_file", "edit_file")
READERS = ("read_file", "grep")
ORDER = {"deny": 0, "ask": 1, "allow": 2}
BLOCK = 50

RULES = [
    *(("deny", "write_file", f"vendor/lib{n}/**") for n in range(30)),
    *(("deny", "write_file", f"*.gen{n}") for n in range(10)),
    *(("ask", "edit_file", f"deploy/stage{n}/*.yml") for n in range(30)),
    *(("allow", "edit_file", f"src/part{n}/**") for n in range(30)),
    *(("deny", "read_file", f"secrets/box{n}/**") for n in range(30)),
    *(("ask", "read_file", f"private{n}.txt") for n in range(10)),
    *(("deny", "run_command", f"deploy{n} now:*") for n in range(30)),
    *(("allow", "run_command", f"check{n} all:*") for n in range(30)),
]
GUARDRAILS: dict[str, Any] = {
    "protected_files": [f"generated{n}/**" for n in range(5)],
    "sensitive_files": [f"*.key{n}" for n in range(5)],
    "blocked_commands": [rf"publish{n}\s+--now" for n in range(5)],
    "code_rules": [{"pattern": f"forbidden{n}", "message": "no"} for n in range(2)],
    "max_files_modified": 1000,
    "max_lines_changed": 100_000,
    "max_commands_executed": 1000,
}
CALLS = [
    ("edit_file", "src/part17/module/a.py", "allow"),
    ("edit_file", "docs/notes/today.md", None),
    ("write_file", "vendor/lib9/code.c", "deny"),
    ("read_file", "src/part3/module/b.py", None),
    ("read_file", "secrets/box29/key", "deny"),
    ("run_command", "check21 all --fast", "allow"),
    ("run_command", "build everything", None),
]


async def measure(folder: Path, scale: Scale) -> list[Figure]:
    assert len(RULES) == 200
    bare = bare_check()
    rules = RuleSet(
        [
            parse_rule(f"{tool}({pattern})", lambda name: name, effect=Effect(effect))
            for effect, tool, pattern in RULES
        ],
        PathBase((ROOT,), "/home/person"),
    )
    grounds = PathBase((ROOT,), "/home/person")
    guardrails = Guardrails(parse_guardrails(GUARDRAILS, str), grounds)
    clearance = Clearance(Mode.BYPASS, [guardrails], tuple, rules)
    subjects = [subject_of(tool, argument) for tool, argument, _ in CALLS]
    for (tool, argument, wanted), subject in zip(CALLS, subjects, strict=True):
        verdict = rules.judge(subject)
        assert bare(tool, argument) == wanted == (verdict and verdict.effect.value), argument
        assert guardrails(subject) is None, argument

    def limit() -> None:
        for tool, argument, _ in CALLS:
            bare(tool, argument)

    def ours() -> None:
        for subject in subjects:
            clearance.judge(subject)

    rounds = max(scale.calls // BLOCK, 20)
    checks = await interleave({"limit": limit, "ours": ours}, rounds=rounds, block=BLOCK)
    per_check = {name: [each / len(CALLS) for each in times] for name, times in checks.items()}
    return [
        figure("k", "policy / dictionary check", per_check, bar=2, goal=1, unit="µs"),
        await beside_a_call(folder, scale, clearance, subjects[3]),
    ]


async def beside_a_call(
    folder: Path, scale: Scale, clearance: Clearance, subject: PolicyInput
) -> Figure:
    workspace = folder / "workspace"
    workspace.mkdir()
    (workspace / "small.txt").write_text("a line of text\n" * 60)
    async with handrail.open(workspace, store=folder / "audit.sqlite", config=REPEATING) as rt:

        async def limit() -> object:
            return await rt.call("read_file", {"path": "small.txt"})

        def ours() -> object:
            return clearance.judge(subject)

        times = await interleave(
            {"limit": limit, "ours": ours}, rounds=max(scale.calls // BLOCK, 20), block=BLOCK
        )
    return figure("k", "policy / read_file call", times, bar=0.33, goal=0.1, unit="µs")


def bare_check() -> Callable[[str, str], str | None]:
    table: dict[str, list[tuple[str, str]]] = {}
    for effect, tool, pattern in RULES:
        family = next((one for one in (WRITERS, READERS) if tool in one), (tool,))
        for name in (tool,) if effect == "allow" else family:
            table.setdefault(name, []).append((effect, pattern))

    expressions = [re.compile(one, re.IGNORECASE) for one in GUARDRAILS["blocked_commands"]]
    read = GUARDRAILS["sensitive_files"]
    kept = {name: [*read, *GUARDRAILS["protected_files"]] for name in WRITERS}
    kept |= dict.fromkeys(READERS, read)
    limits: dict[str, tuple[str, ...]] = dict.fromkeys(
        WRITERS, ("max_files_modified", "max_lines_changed")
    )
    limits["run_command"] = ("max_commands_executed",)
    counts = dict.fromkeys(("max_commands_executed", "max_files_modified", "max_lines_changed"), 0)

    def check(tool: str, argument: str) -> str | None:
        guarded = any(fnmatchcase(argument, pattern) for pattern in kept.get(tool, ()))
        if tool == "run_command":
            guarded = any(one.search(argument) for one in expressions)
        if guarded or any(counts[key] >= GUARDRAILS[key] for key in limits.get(tool, ())):
            return "deny"
        found = [
            effect
            for effect, pattern in table.get(tool, ())
            if (
                argument.startswith(pattern[:-2])
                if tool == "run_command"
                else fnmatchcase(argument, pattern)
            )
        ]
        return min(found, key=ORDER.__getitem__) if found else None

    return check


def subject_of(tool: str, argument: str) -> PolicyInput:
    if tool == "run_command":
        words = tuple(argument.split())
        part = CommandPart(words, argument, CommandClass.DEV)
        analysis = CommandAnalysis(
            CommandClass.DEV,
            (),
            CommandEffects(programs=words[:1]),
            parts=(part,),
            rule_matchable=True,
            text=argument,
        )
        return PolicyInput(tool, Risk.MODERATE, Footprint((), command=analysis), False, None, False)
    key = f"file:{ROOT}/{argument}"
    reads = tool in READERS
    footprint = reading(key) if reads else writing(key)
    return PolicyInput(
        tool, Risk.SAFE if reads else Risk.MODERATE, footprint, reads, None, not reads
    )
