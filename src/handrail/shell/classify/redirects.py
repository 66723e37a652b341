"""What redirects read and write."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from handrail.shell.classify import roles
from handrail.shell.classify.arguments import Known, arguments
from handrail.shell.classify.roles import Site
from handrail.shell.parse.syntax import Redirect

_TEXT: Final = frozenset({"<<", "<<-", "<<<"})
_COPIES: Final = frozenset({">&", "<&"})
_SOCKET: Final = re.compile(r"/dev/(?:tcp|udp)/([^/]+)/.*")


def weigh(redirects: Sequence[Redirect], known: Known, site: Site) -> None:
    """Adds the redirects of one command to the tally."""
    for redirect in redirects:
        _one(redirect, known, site)


def writes(redirects: Sequence[Redirect]) -> bool:
    """Whether any of them writes a file, streams such as /dev/null apart."""
    return any(
        ">" in one.operator
        and not _copies(one)
        and (one.target.value or "") not in ("/dev/null", "/dev/stdout", "/dev/stderr")
        for one in redirects
    )


def _one(redirect: Redirect, known: Known, site: Site) -> None:
    if redirect.operator in _TEXT:
        word = redirect.target if redirect.body is None else redirect.body
        for argument in arguments((word,), known):
            roles.text(argument, site)
        return
    if _copies(redirect):
        return
    for argument in arguments((redirect.target,), known):
        socket = _SOCKET.match(argument.text or "")
        if socket is not None:
            site.danger("the shell opens a connection")
            site.tally.reaches(socket.group(1))
        elif redirect.operator == "<":
            roles.weigh("read", argument, site)
        else:
            roles.weigh("write", argument, site)


def _copies(redirect: Redirect) -> bool:
    """`2>&1` and `>&-` name a stream, not a file."""
    return redirect.operator in _COPIES and bool(
        re.fullmatch(r"\d+-?|-", redirect.target.value or "")
    )
