"""`handrail models`: list the models of the settings, or send one a short request."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import TYPE_CHECKING, Any, Final

from handrail.cli import messages
from handrail.cli.commands.setup.config import load_layers
from handrail.cli.exit_codes import ExitCode
from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output

if TYPE_CHECKING:
    from collections.abc import Mapping

    from handrail.models.profiles import ModelProfile


_ACTIONS: Final = ("list", "test")
_EPILOG: Final = """\
list        list the models of your settings and the known services
test NAME   send a model a short request; NAME as in `handrail run --model`"""


def add_parser(subparsers: Subparsers[Parser]) -> None:
    parser = add_command(subparsers, "models", epilog=_EPILOG)
    parser.add_argument(
        "action", metavar="ACTION", nargs="?", default="list", choices=_ACTIONS, help="list, test"
    )
    parser.add_argument("name", metavar="NAME", nargs="?", help="the model to test")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """List the models, or test one; return 1 if the request failed."""
    if options.action == "test":
        if options.name is None:
            raise messages.NO_MODEL_NAME.error()
        return _test(options)
    return _list(options)


def _list(options: Namespace) -> int:
    from handrail.assembly.models import model_profiles
    from handrail.cli.render.screen import one_line
    from handrail.models.profiles import SERVICES

    settings = load_layers(options).settings
    profiles = model_profiles(settings)
    services = {
        f"{name}:MODEL": profile for name, profile in SERVICES.items() if name not in profiles
    }
    rows = [
        _row(name, profile, settings.model) for name, profile in {**profiles, **services}.items()
    ]
    if options.json:
        for row in rows:
            output.print_json(row)
        return ExitCode.DONE
    _print_table(rows)
    output.print_text()
    if settings.model is None:
        output.print_text("no model is chosen: set `model` in your settings, or pass --model")
    else:
        output.print_text(f"chosen: {one_line(settings.model)}; --model NAME uses another one")
    return ExitCode.DONE


def _row(name: str, profile: ModelProfile, chosen: str | None) -> dict[str, Any]:
    return {
        "name": name,
        "chosen": name == chosen,
        "wire": profile.wire,
        "base_url": profile.base_url,
        "model": profile.model or None,
        "key": _key_source(profile),
        "key_present": profile.key_env is None or bool(os.environ.get(profile.key_env)),
    }


def _key_source(profile: ModelProfile) -> str | None:
    """Return where the key comes from; never the key."""
    if profile.key_env is not None:
        return f"${profile.key_env}"
    return "key_command" if profile.key_command is not None else None


def _print_table(rows: list[dict[str, Any]]) -> None:
    from handrail.cli.render.screen import one_line, table

    cells = [
        (
            one_line(f"{row['name']} *" if row["chosen"] else row["name"]),
            row["wire"],
            one_line(_key_text(row)),
            one_line(row["base_url"]),
        )
        for row in rows
    ]
    for line in table(cells, ("model", "format", "key", "address")):
        output.print_text(line)


def _key_text(row: Mapping[str, Any]) -> str:
    if row["key"] is None:
        return "none needed"
    return str(row["key"]) if row["key_present"] else f"{row['key']} (not set)"


def _test(options: Namespace) -> int:
    import asyncio
    import time

    from handrail.assembly.models import ModelSource

    settings = load_layers(options).settings

    async def ask() -> dict[str, Any]:
        source = ModelSource(settings, None)
        started = time.monotonic()
        try:
            report = await _ask(source, options.name)
        finally:
            await source.aclose()
        return {**report, "seconds": round(time.monotonic() - started, 2)}

    report = asyncio.run(ask())
    if options.json:
        output.print_json(report)
    else:
        _print_report(report)
    return ExitCode.DONE if report["ok"] else ExitCode.FAILED


async def _ask(source: Any, name: str) -> dict[str, Any]:
    """Send one short request and return a report, which has no part of the key."""
    from handrail.core.ports.models import (
        Message,
        MessageDone,
        ModelFailed,
        ModelRequest,
        ModelRetry,
        SystemPart,
        TextBlock,
        UsageReported,
    )

    resolved = source.resolve(name)
    model = resolved.model
    question = Message("user", (TextBlock("Reply with the word ready."),))
    report: dict[str, Any] = {"model": name, "wire": model.wire, "ok": False, "retries": 0}
    try:
        async for event in model.stream(ModelRequest((SystemPart("Be brief."),), (question,))):
            if isinstance(event, UsageReported):
                report |= {"input_tokens": event.input, "output_tokens": event.output}
            elif isinstance(event, ModelRetry):
                report["retries"] += 1
            elif isinstance(event, MessageDone):
                report |= {"ok": True, "finish": event.finish, "text": event.message.text[:500]}
    except ModelFailed as failed:
        report |= {"code": failed.code, "reason": failed.message, "hint": failed.hint}
    limits = model.limits
    known = {"context_tokens": limits.context_tokens, "context_known": limits.context_known}
    return {**report, **known, "scripted": resolved.scripted}


def _print_report(report: Mapping[str, Any]) -> None:
    from handrail.cli.render.screen import one_line

    kind = " (scripted)" if report["scripted"] else ""
    if not report["ok"]:
        output.print_text(
            one_line(f"{report['model']}{kind}: {report['code']}: {report['reason']}")
        )
        if report["hint"]:
            output.warn_titled("hint", report["hint"])
        return
    output.print_text(one_line(f"{report['model']}{kind}: answered in {report['seconds']} s"))
    output.print_text(one_line(f"  said: {report['text']}"))
    tokens = f"{report['input_tokens']} in, {report['output_tokens']} out"
    assumption = (
        "" if report["context_known"] else " (assumed: set context_tokens if it is another)"
    )
    output.print_text(f"  tokens: {tokens}; context {report['context_tokens']:,}{assumption}")
