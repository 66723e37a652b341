"""Guardrails by hand: subjects through the real reader of commands, plans from texts."""

import posixpath

from handrail.core.commands import ExecutionContext
from handrail.core.footprint import Footprint, writing
from handrail.core.places import Kind, Place
from handrail.core.plan import Change, Plan
from handrail.core.text.content import Content
from handrail.core.verdicts import Risk
from handrail.host.processes.binaries import find_binary
from handrail.host.processes.shfmt import Shfmt
from handrail.policy.guardrails.guard import Guardrails
from handrail.policy.guardrails.section import parse_guardrails
from handrail.policy.policy_input import PolicyInput
from handrail.policy.rules.paths.pattern import PathBase
from handrail.policy.rules.rule import declared_traits
from handrail.shell.analyzer import ShellCommandAnalyzer

ROOT = "/home/u/app"
GROUNDS = PathBase((ROOT,), "/home/u")
_WHERE = ExecutionContext(
    ROOT, (ROOT,), "/home/u", lambda name: f"/usr/bin/{name}", posixpath.normpath
)
_ANALYZER = ShellCommandAnalyzer(
    Shfmt(find_binary("shfmt", [])), lambda cwd: _WHERE._replace(cwd=cwd)
)


def settings(**table):
    return parse_guardrails(table, lambda key: f"config.toml:{len(key)}")


def rails(**table):
    return Guardrails(settings(**table), GROUNDS)


def analysis(text):
    return _ANALYZER.analyze(text, cwd=ROOT, env={})


def command(text):
    found = analysis(text)
    footprint = Footprint((), found.effects.open_ended, found)
    return PolicyInput(
        "run_command",
        Risk(int(found.safety_class)),
        footprint,
        False,
        None,
        False,
        traits=declared_traits("run_command"),
    )


def change(path, before, after):
    """One file; texts become contents, None: it is not there."""
    whole = f"{ROOT}/{path}"
    kind = Kind.MISSING if before is None else Kind.FILE
    place = Place(0, path, path, whole, kind)
    return Change(place, _content(before), _content(after))


def edit(*changes, tool="edit_file"):
    plan = Plan(tuple(changes), "done")
    footprint = writing(*(one.place.key for one in changes))
    places = tuple(one.place for one in changes)
    return PolicyInput(
        tool, Risk.MODERATE, footprint, False, plan, True, places, traits=declared_traits(tool)
    )


def _content(given):
    if given is None or isinstance(given, Content):
        return given
    return Content(given.encode() if isinstance(given, str) else given)
