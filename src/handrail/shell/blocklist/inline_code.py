"""Catastrophes in code passed to an interpreter, found by patterns.

Looks for a dangerous call together with its target; code that only mentions one is allowed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from handrail.core.commands import Reason
from handrail.shell.blocklist import messages
from handrail.shell.blocklist.critical_paths import CriticalPaths
from handrail.shell.blocklist.fork_bombs import forks_without_end

_QUOTED: Final = r"""(?:[rbfu]{0,2}["']([^"'\n]*)["']|%q\(([^)]*)\))"""
_DELETING: Final = re.compile(
    r"(?:rmtree|rmSync|rmdirSync|rmdir|rm_rf|rm_r|remove_dir|remove_entry_secure|remove_tree|rmtree"
    r"|removedirs|rimraf|unlinkSync|unlink|rename|renameSync|move|\brm|removeSync|emptyDirSync"
    r"|os\.remove|Deno\.remove(?:Sync)?|File\.delete|delete_recursively|chmod|chown)\s*+\(?\s*+(?:glob\s*+\(?\s*+)?"
)
_HOME: Final = re.compile(
    r"^(?:\w+\.)*(?:expanduser\(|homedir\(|Path\.home\(|home\(|require\(['\"]os['\"]\)\.homedir"
    r"|ENV\[['\"]HOME|\$ENV\{['\"]?HOME|process\.env\.HOME|os\.environ\[['\"]HOME|getenv\(['\"]HOME"
    r"|Dir\.home)"
)
_OPENING: Final = re.compile(
    r"(?:open|write_text|write_bytes|writeFileSync|writeFile|file_put_contents|fopen|File\.write"
    r"|createWriteStream|truncate)\s*+\(?\s*+" + _QUOTED + r"\s*+(?:,\s*+[\"']([^\"']*))?"
)
_PATHED: Final = re.compile(r"Path\(\s*+" + _QUOTED + r"\s*+\)\.(?:write_\w+|unlink|rmdir|open)")
_RUNNING: Final = re.compile(
    r"(?:system|popen|Popen|exec\w*|spawn\w*|\brun|\bcall|check_call|check_output|qx|shell_exec"
    r"|passthru|getoutput|do shell script|child_process[\w.'\")]*)\s*[\[({\s]*"
)
_LIST: Final = re.compile(_QUOTED + r"(?:\s*,\s*|\s*\]|\s*\)|\s*$|.)?")
_FETCH: Final = re.compile(
    r"urlopen|urllib|requests\.|httpx|http\.get|https\.get|fetch\(|LWP|open-uri|URI\.open|Net::HTTP"
    r"|HTTP::|curl_exec|file_get_contents\(\s*['\"]https?:|socket"
)
_EXECUTE: Final = re.compile(r"\bexec\b|\beval\b|\bFunction\(|\bcompile\(|os\.system|\bsystem\b")
_CONNECTING: Final = re.compile(
    r"socket\.socket|create_connection|fsockopen|TCPSocket|IO::Socket|net\.(?:connect|Socket)"
    r"|sockaddr_in|/inet/tcp/|\bsocket\s*+\("
)
_SHELL: Final = re.compile(
    r"/bin/(?:ba|da|z|k)?sh\b|[\"'](?:ba|da|z)?sh[\"' ]|IO\.popen|pty\.spawn|\w\s*\|&?\s*getline"
)
_KILLING: Final = re.compile(
    r"(?:os\.kill|process\.kill|Process\.kill|\bkill)\s*+\(?\s*+(?:['\"]?\w++['\"]?,\s*+)?-?1\b"
)

# Looks at a command line found inside the code.
Look = Callable[[str], Iterator[Reason]]


def find_code_damage(
    code: str, options: str, places: CriticalPaths, cwd: str | None, look: Look
) -> Iterator[str]:
    """Reasons to refuse the code. `options` may import what it uses."""
    for match in _DELETING.finditer(code):
        rest = code[match.end() :]
        target = re.match(_QUOTED, rest)
        if target and _dear(target.group(1) or "", places, cwd):
            yield f"{messages.CODE_DELETES.format(path=target.group(1))}; {messages.USE_WORKSPACE_FILES}"
        elif _HOME.match(rest):
            yield f"{messages.CODE_DELETES_HOME}; {messages.USE_WORKSPACE_FILES}"
    for path, mode in _opened(code):
        writes = mode is None or any(letter in mode for letter in "wa+>x")
        if writes and path.startswith("/") and places.system_target(path, cwd) is not None:
            yield f"{messages.CODE_WRITES.format(path=path)}; {messages.USE_WORKSPACE_FILES}"
    yield from _process_damage(code, options)
    for command in _commands(code):
        yield from (reason.text for reason in look(command))


def _process_damage(code: str, options: str) -> Iterator[str]:
    if forks_without_end(code):
        yield f"{messages.CODE_FORKS}; {messages.USE_WORKSPACE_FILES}"
    if _FETCH.search(code + options) and _EXECUTE.search(code):
        yield messages.CODE_RUNS_DOWNLOAD
    if _CONNECTING.search(code) and _SHELL.search(code):
        yield f"{messages.REVERSE_SHELL}; {messages.DOWNLOAD_FIRST}"
    if _KILLING.search(code):
        yield f"{messages.CODE_KILLS}; {messages.USE_WORKSPACE_FILES}"


def _dear(path: str, places: CriticalPaths, cwd: str | None) -> bool:
    if path.startswith(("/", "~", "..", "$HOME")):
        return places.critical_loss(places.expand_home(path), cwd) is not None
    return False


def _opened(code: str) -> Iterator[tuple[str, str | None]]:
    for match in _OPENING.finditer(code):
        path = match.group(1) or match.group(2) or ""
        read_by_default = re.match(r"f?open\b", match.group(0)) is not None
        yield path, match.group(3) or ("" if read_by_default else None)
    for match in _PATHED.finditer(code):
        yield match.group(1) or "", None


def _commands(code: str) -> Iterator[str]:
    """Command lines in calls that start programs: one string, or a list of words."""
    for match in _RUNNING.finditer(code):
        words, position = [], match.end()
        while (one := _LIST.match(code, position)) is not None:
            words.append(one.group(1) or one.group(2) or "")
            position = one.end()
        if words:
            yield " ".join(words)
    yield from re.findall(r"`([^`]+)`", code)
