"""Classifies the files that redirects read and write."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from handrail.shell.classify import messages, roles
from handrail.shell.classify.argument_context import ArgumentContext
from handrail.shell.classify.arguments import Argument, argument_readings
from handrail.shell.expand import Expander
from handrail.shell.parse.syntax import Redirect, Word

_TEXT: Final = frozenset({"<<", "<<-", "<<<"})
_COPIES: Final = frozenset({">&", "<&"})
_SOCKET: Final = re.compile(r"/dev/(?:tcp|udp)/([^/]+)/.*")


def classify_redirects(
    redirects: Sequence[Redirect], expander: Expander, context: ArgumentContext
) -> None:
    """Add the redirects of one command to the collector."""
    for redirect in redirects:
        _one(redirect, expander, context)


def writes_file(redirects: Sequence[Redirect]) -> bool:
    """Whether a redirect writes a file other than a stream such as /dev/null."""
    return any(
        ">" in one.operator
        and not _copies(one)
        and (one.target.value or "") not in ("/dev/null", "/dev/stdout", "/dev/stderr")
        for one in redirects
    )


def _one(redirect: Redirect, expander: Expander, context: ArgumentContext) -> None:
    if redirect.operator in _TEXT:
        word = redirect.target if redirect.body is None else redirect.body
        for argument in _arguments(word, expander, context):
            roles.classify_text(argument, context)
        return
    if _copies(redirect):
        return
    for argument in _arguments(redirect.target, expander, context):
        socket = _SOCKET.match(argument.text or "")
        if socket is not None:
            context.danger(messages.OPENS_CONNECTION)
            context.collector.add_host(socket.group(1))
        elif redirect.operator == "<":
            roles.classify_argument("read", argument, context)
        else:
            roles.classify_argument("write", argument, context)


def _arguments(word: Word, expander: Expander, context: ArgumentContext) -> Iterator[Argument]:
    for reading in argument_readings((word,), expander, context.cwd):
        for one in reading:
            found = context.has_found_argument and one.is_placeholder and not one.leaves_directory
            yield replace(one, found_by_search=True) if found else one


def _copies(redirect: Redirect) -> bool:
    """`2>&1` and `>&-` name a stream, not a file."""
    return redirect.operator in _COPIES and bool(
        re.fullmatch(r"\d+-?|-", redirect.target.value or "")
    )
