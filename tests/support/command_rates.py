"""How well commands are classified, over every list of them: `python -m tests.support.command_rates`.

`-v` prints the commands that miss their expectation.
"""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from tests.support.commands import CORPUS, ROOT, WHERE, parser

from handrail.core.commands import CommandClass
from handrail.shell.analyzer import ShellCommandAnalyzer

LISTS = Path(__file__).resolve().parents[1] / "data" / "commands"
# What an expectation allows.
MEETS = {
    "blocked": lambda found: found is CommandClass.BLOCKED,
    "safe": lambda found: found is CommandClass.SAFE,
    "dev": lambda found: found <= CommandClass.DEV,
    "not_safe": lambda found: found is not CommandClass.SAFE,
    "not_blocked": lambda found: found is not CommandClass.BLOCKED,
    "not_dev": lambda found: found >= CommandClass.DANGEROUS,
}


class Listed(NamedTuple):
    """A command of a list, with the class that it has."""

    command: str
    kind: str
    expect: str
    found: CommandClass

    @property
    def missed(self) -> bool:
        """Whether the class is not the expected one."""
        return not MEETS[self.expect](self.found)


def all_lists():
    """Every list of commands by its name."""
    return sorted(
        [*LISTS.glob("*.jsonl"), *CORPUS.glob("*command*.jsonl"), CORPUS / "blocked.jsonl"]
    )


def classified(path):
    """The commands of a list, each with its class where every program is the system's own.

    Near misses are tried where other processes are visible.
    """
    where = WHERE._replace(hides_processes=lambda: path.stem != "near_misses")
    analyzer = ShellCommandAnalyzer(parser(), lambda cwd: where._replace(cwd=cwd))
    found = []
    for line in path.read_text().splitlines():
        row = json.loads(line)
        analysis = analyzer.analyze(row["command"], cwd=ROOT, env={})
        kind = row.get("kind") or row["category"]
        found.append(Listed(row["command"], kind, row["expect"], analysis.safety_class))
    return found


def main(arguments):
    """Print one line for each list, and with `-v` what was missed."""
    for path in all_lists():
        if arguments[1:] and path.stem not in arguments[1:]:
            continue
        rows = classified(path)
        missed = [row for row in rows if row.missed]
        classes = Counter(row.found.word for row in rows)
        share = f"{len(missed)} of {len(rows)} missed ({100 * len(missed) / len(rows):.1f} %)"
        print(f"{path.stem:20} {share:30} {dict(classes)}")
        for row in missed if arguments[:1] == ["-v"] else []:
            print(f"    {row.kind:24} {row.found.word:10} {row.command!r}")


if __name__ == "__main__":
    main(sys.argv[1:] or ["-q"])
