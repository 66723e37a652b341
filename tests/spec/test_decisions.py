"""Mode, rule, guardrail, hook and the tool's risk together, through the front door.

What should come of each is stated here once more, in plain sentences; nothing of it is taken
from the code. Whether a sandbox holds a command, and which source a rule comes from, is in the
table of `tests/policy/test_decision_table.py`.
"""

from itertools import product

import pytest

import handrail
from handrail import Effect, Opinion, Risk, Verdict
from handrail.core.arguments.params import Params
from handrail.core.tool import Tool
from handrail.policy.modes import Mode

KINDS = ("look", "edit", "danger")
RULES = (None, "allow", "ask", "deny")
HOOKS = (None, "allow", "trusted allow", "ask", "deny")
# What a mode makes of a look, of an edit, and of a dangerous tool that edits no file.
BY_MODE = {
    "default": ("allow", "ask", "ask"),
    "confirm-all": ("ask", "ask", "ask"),
    "accept-edits": ("allow", "allow", "ask"),
    "sandboxed": ("allow", "allow", "ask"),
    "auto-safe": ("allow", "allow", "ask"),
    "strict": ("allow", "allow", "deny"),
    "plan": ("allow", "queue", "queue"),
    "dont-ask": ("allow", "deny", "deny"),
    "bypass": ("allow", "allow", "allow"),
}
CALLS = {
    "look": ("read_file", {"path": "a.txt"}, "read_file(a.txt)"),
    "edit": ("write_file", {"path": "b.txt", "content": "x\n"}, "write_file(b.txt)"),
    "danger": ("danger", {}, "danger"),
}


def stated(mode, kind, rule, guarded, hook):
    """The decision, in plain sentences."""
    # Guardrails stand above everything; the dangerous tool touches no file of theirs.
    if guarded and kind != "danger":
        return "deny"
    # Deny wins over ask, and ask over allow, whoever says it.
    if "deny" in (rule, hook):
        return "deny"
    decided = BY_MODE[mode][KINDS.index(kind)]
    by_mode = True
    # The mode decides only where no rule speaks; only looking is done in plan mode, and a
    # rule can make that stricter, not wider.
    if rule is not None and decided != "queue" and not (mode == "plan" and rule == "allow"):
        decided, by_mode = rule, False
    # A hook that the person trusts with it answers where only the mode asks.
    if hook == "trusted allow" and decided == "ask" and by_mode:
        decided = "allow"
    if hook == "ask" and decided == "allow":
        decided = "ask"
    # Some modes ask nobody.
    if decided == "ask" and mode in ("dont-ask", "strict"):
        return "deny"
    return decided


class Danger(Tool[Params]):
    name = "danger"
    summary = "Something dangerous that touches no file."
    params = Params
    effects = handrail.Effects.OPEN_ENDED

    def footprint(self, args):
        return handrail.Footprint(open_ended=True)

    def risk(self, args):
        return Risk.DANGEROUS

    async def run(self, args, ctx):
        return handrail.Output("done")


class Says:
    """A hook of the person's with one opinion."""

    opinion = None

    async def before(self, call):
        if self.opinion is None:
            return None
        effect = Effect(self.opinion.removeprefix("trusted "))
        verdict = Verdict(effect, f"the hook says {effect}", "hook:says")
        return Opinion(verdict, may_allow=self.opinion.startswith("trusted"))

    async def after(self, call, result):
        return None


@pytest.mark.feature("F05", "F06", "F07", "F09", "F10", "F11", "G11", "G17", "K10")
@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("rule", RULES)
async def test_every_combination_is_decided_as_stated(open_runtime, workspace, mode, rule):
    wrong = []
    for guarded in (False, True):
        config = {"loop_guard": "off"}
        if guarded:
            config["guardrails"] = {"sensitive_files": ["*.txt"]}
        asked = []
        hook = Says()
        settings = {"mode": mode.value, "config": config, "approver": asked.append}
        if rule is not None:
            # The settings are read before the dangerous tool is there to be named.
            listed = [text for kind, (_, _, text) in CALLS.items() if kind != "danger"]
            config["permissions"] = {rule: listed}
        async with open_runtime(**settings) as rt:
            rt.register(Danger())
            rt.hooks.append(hook)
            for kind, said in product(KINDS, HOOKS):
                workspace.write("a.txt", "open\n")
                (workspace.root / "b.txt").unlink(missing_ok=True)
                asked.clear()
                hook.opinion = said
                tool, arguments, _ = CALLS[kind]

                result = await rt.call(tool, arguments)

                spoken = None if kind == "danger" else rule
                wanted = stated(mode.value, kind, spoken, guarded, said)
                decided = decision(result, asked)
                done = (workspace.root / "b.txt").exists()
                if decided != wanted or done != (kind == "edit" and decided == "allow"):
                    wrong.append((kind, said, guarded, decided, wanted, result.text))
    assert wrong == []


def decision(result, asked):
    if asked:
        return "ask"
    if result.text.startswith("[PLAN MODE]"):
        return "queue"
    return "allow" if result.ok else "deny"
