"""Commands read with the real parser, and surroundings that no machine has to look like."""

import json
import posixpath
from functools import cache
from pathlib import Path

from handrail.core.commands import ExecutionContext, UnreadableCommand
from handrail.host.processes.binaries import find_binary
from handrail.host.processes.shfmt import Shfmt
from handrail.shell.analyze.variables import bind_variables
from handrail.shell.analyze.walk import flatten
from handrail.shell.blocklist import matcher
from handrail.shell.blocklist.program_calls import expand_command
from handrail.shell.expand import Expander
from handrail.shell.parse.reader import parse_command
from handrail.shell.simulate.simulator import simulate_command

CORPUS = Path(__file__).resolve().parents[1] / "data" / "corpus"
ROOT = "/home/u/projects/app"
WHERE = ExecutionContext(
    ROOT,
    (ROOT,),
    "/home/u",
    lambda name: f"/usr/bin/{name}",
    posixpath.normpath,
    hides_processes=lambda: True,
)


@cache
def parser():
    return Shfmt(find_binary("shfmt", []))


def understood(command):
    """The tree of a command and all that it runs; None twice if it cannot be read."""
    try:
        script = parse_command(command, parser())
        return script, flatten(script, lambda text: parse_command(text, parser()))
    except UnreadableCommand:
        return None, None


def expanded(command, *, where=WHERE, env=None):
    """The command as the checks of the blocklist see it."""
    script, flat = understood(command)
    bindings = bind_variables(script, flat, env or {})
    expander = Expander(bindings, where.home, invocations=len(flat.invocations))
    return expand_command(flat, where, expander, ())


def refused(command, *, where=WHERE, user_blocked=(), env=None):
    """Why the command is on the blocklist."""
    script, flat = understood(command)
    if script is None:
        return matcher.find_blocked_in_text(command, where, user_blocked)
    bindings = bind_variables(script, flat, env or {})
    expander = Expander(bindings, where.home, invocations=len(flat.invocations))
    simulated = simulate_command(
        script, where, env or {}, lambda text: parse_command(text, parser())
    )
    return matcher.find_blocked(flat, where, expander, script, user_blocked, simulated=simulated)


def rows(name):
    """The rows of one file of the corpus."""
    return [json.loads(line) for line in (CORPUS / f"{name}.jsonl").read_text().splitlines()]
