"""The questions of `handrail config init` about the model: which service, which model, which key."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from handrail.cli.render.screen import one_line
from handrail.core.problems import ProblemRaised
from handrail.models.profiles import SERVICES, ModelProfile, check_profile

# For a server that the user names by its address.
_OWN_NAME: Final = "own"
_OWN_WIRE: Final = "openai-chat"
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Returns the answer to a question; raises EOFError at the end of input.
Ask = Callable[[str], str]


class ModelAnswers(NamedTuple):
    """The model that the user chose. `table` is its table in the settings, None if the service
    needs none.
    """

    name: str
    table: ModelProfile | None
    key_env: str | None

    def settings_lines(self) -> Iterator[str]:
        """Yield the lines of `[models.NAME]`."""
        if self.table is None:
            return
        yield f"[models.{self.name}]"
        for key in ("wire", "base_url", "model", "key_env"):
            value = getattr(self.table, key)
            if value:
                yield f"{key} = {json.dumps(value, ensure_ascii=False)}"

    def next_steps(self) -> Iterator[tuple[str, str]]:
        """Yield what the user does next, with the command that does it."""
        if self.key_env and not os.environ.get(self.key_env):
            yield "set the key", f"export {self.key_env}=…"
        yield "test the model", f"handrail models test {one_line(self.name)}"
        yield "start", 'handrail run "Explain this project"'


def ask_model(ask: Ask, say: Callable[[str], None]) -> ModelAnswers | None:
    """Ask three questions; return None if the user wants no model."""
    say("Which service has your model?")
    names = [*SERVICES, "another server, by its address", "none for now"]
    for number, name in enumerate(names, 1):
        say(f"  {number}  {name}")
    chosen = _choose(ask, say, len(names))
    if chosen == len(names):
        return None
    if chosen == len(names) - 1:
        profile, service = _ask_server(ask, say), None
    else:
        service = names[chosen - 1]
        profile = SERVICES[service]
    model = _ask_text(ask, say, "Model, as the service names it: ")
    key_env = _ask_variable(ask, say, profile)
    if service is not None and key_env == profile.key_env:
        return ModelAnswers(f"{service}:{model}", None, key_env)
    table = ModelProfile(profile.wire, profile.base_url, model, key_env)
    return ModelAnswers(service or _OWN_NAME, table, key_env)


def _choose(ask: Ask, say: Callable[[str], None], count: int) -> int:
    while True:
        answer = ask(f"[1-{count}] ").strip()
        if answer.isdecimal() and 1 <= int(answer) <= count:
            return int(answer)
        say(f"type a number from 1 to {count}")


def _ask_server(ask: Ask, say: Callable[[str], None]) -> ModelProfile:
    while True:
        url = _ask_text(ask, say, "Address, such as http://127.0.0.1:8000/v1: ")
        profile = ModelProfile(_OWN_WIRE, url)
        try:
            check_profile(profile)
        except ProblemRaised as raised:
            say(one_line(raised.problem.message))
        else:
            return profile


def _ask_text(ask: Ask, say: Callable[[str], None], question: str) -> str:
    while not (answer := ask(question).strip()):
        say("type a value, or Ctrl-C to stop")
    return answer


def _ask_variable(ask: Ask, say: Callable[[str], None], profile: ModelProfile) -> str | None:
    """Return the environment variable of the key; never the key, which belongs in no file."""
    default = profile.key_env
    while True:
        answer = (
            ask(f"Environment variable that holds the API key [{default or 'none'}]: ").strip()
            or default
        )
        if answer is None or answer.lower() == "none":
            return None
        if not _VARIABLE.fullmatch(answer):
            say("type the name of an environment variable, not the key itself")
            continue
        try:
            check_profile(replace(profile, key_env=answer))
        except ProblemRaised as raised:
            say(one_line(str(raised.problem)))
        else:
            return answer
