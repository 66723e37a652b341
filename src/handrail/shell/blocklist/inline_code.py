"""Catastrophes in code passed to an interpreter, found by patterns.

Looks for a dangerous call together with its target; code that only mentions one is allowed. Fork bombs in shell functions are found by what the functions run.
"""

from __future__ import annotations

import ast
import base64
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain, islice
from typing import Final

from handrail.core.commands import Reason
from handrail.shell.blocklist import messages
from handrail.shell.blocklist.critical_paths import CriticalPaths
from handrail.shell.blocklist.forking_code import called_name, forks_without_end, parse_python
from handrail.shell.languages.code_folding import (
    command_literals,
    executed_literals,
    fold_code,
    starts_programs,
    without_line_ends,
)
from handrail.shell.languages.endless_code import fills_memory
from handrail.shell.languages.service_code import empties_service
from handrail.shell.tables.catastrophes import RIGHTS
from handrail.shell.tables.refused_uses import CLOUD

_QUOTED: Final = r"""(?:[rbfu]{0,2}["']([^"'\n]*)["']|%q\(([^)]*)\))"""
_DELETING: Final = re.compile(
    # Functions that delete files; `remove` and `delete` alone belong to lists, maps and routes, too.
    r"(?:rmtree|rmSync|rmdirSync|rmdir|rm_rf!?|rm_r|remove_(?:dir(?:_all)?|entry(?:_secure)?|tree|all|file)"
    r"|(?i:\b(?:remove|delete)-?(?:directory|dir|folder|tree|item|path|file|all)(?![a-z]*prefix)[\w/!-]*+)"
    r"|removedirs|rimraf|unlinkSync|unlink|rename|renameSync|\bmove|\brm|removeSync|emptyDirSync"
    r"|(?i:\b(?:os|fs|fse|Deno|File|Files|Directory|FileUtils|FileSystem|Dir|Pathname|filesystem)"
    r"(?:\.|::)(?:remove|delete)\w*+)|delete_recursively|deleteRecursively|chmod|chown"
    r"|Remove-Item(?:\s+-\w+)*+|\bri(?:\s+-\w+)++|\br[dm](?:\s+[-/]\w+)++|\bdel(?:\s+/\w+)++"
    r"|\bfile\s+delete(?:\s+-[\w-]+)*+)"
    # `chmod 0, glob "/usr/*"`: the mode stands before the path.
    r"\s*+\(?\s*+(?:0?o?[0-7]{1,5}\s*+,\s*+)?+(?:new\s++)?+(?:(?:glob|at\w*|#p|\w*[pP]ath|File)\s*+(?:[:(]\s*+|(?=[\"'])))?"
)
_HOME: Final = re.compile(
    r"^(?:\w+[.:]{1,2})*(?:expanduser\(|homedir\(|\w*[hH]ome_?[dD]ir\w*!?\(|user_home!?|Path\.home\(|home\(|require\(['\"]os['\"]\)\.homedir"
    r"|ENV\[['\"]HOME|\$ENV\{['\"]?HOME|process\.env\.HOME|os\.environ\[['\"]HOME|getenv\(['\"]HOME"
    r"|Dir\.home)"
)
# Something in the home directory: `Path.home() / "x"`, `expanduser("~/x")`, `HOME + "/x"`.
_BELOW_HOME: Final = re.compile(
    r"[\"']~/[\w.*-]|[\"')\]}]{0,6}\s*+(?:[+/.]|\.\.|<>|,)\s*+[\"']/?[\w.-]|[)\]}]{0,3}/[\w.-]"
)
_OPENING: Final = re.compile(
    r"(?:open|write_text|write_bytes|writeFileSync|writeFile|file_put_contents|fopen|File\.write"
    r"|createWriteStream|truncate)\s*+\(?\s*+" + _QUOTED + r"\s*+(?:,\s*+[\"']([^\"']*))?"
)
# `open(F, ">/x")` and `open(F, ">", "/x")` of Perl.
_OPENED_HANDLE: Final = re.compile(
    r"\bopen\s*+\(?\s*+(?:my\s++)?[$\w]++\s*+,\s*+[\"']\+?>{1,2}\s*+(?:[^\"',\n]{0,20}[\"']\s*+,\s*+[\"'])?([^\"'\n]*)[\"']"
)
_PATHED: Final = re.compile(r"Path\(\s*+" + _QUOTED + r"\s*+\)\.(?:write_\w+|unlink|rmdir|open)")
_RUNNING: Final = re.compile(
    r"(?:(?i:exec\.Command(?:Context)?|system(?:\.cmd|\*)?|popen\w*|exec\w*|spawn\w*|Command::new|ProcessBuilder|proc_open"
    r"|\bProcess\.(?:start|run|new)\w*|(?:start|create|call)[-_]?process(?:-shell-command)?|shell[-_]command)"
    r"|os:cmd|Sys\.command|\bProcess(?=\s*\()|\bshell(?=\s*\(?\s*[\"'])"
    r"|\brun[\w-]*|\bcall\w*|check_call|check_output|\bsh|qx|%x|passthru|getoutput\w*"
    r"|do shell script|child_process[\w.'\")]*)\s*[\[({\s]*"
)
_LIST: Final = re.compile(_QUOTED + r"(?:\s*\(list\s+|\s*,\s*\[?\s*|\s*\]|\s*\)|\s*$|.)?")
_EXECUTED_STRING: Final = re.compile(_QUOTED + r"\.execute\(")
_BASE64: Final = re.compile(r"(?i)b64decode|base64\b|atob|decode64")
_HEXADECIMAL: Final = re.compile(r"(?i)pack\(\s*[\"']H\*|fromhex|unhexlify|[\"']hex[\"']|xxd")
_WALKED: Final = re.compile(
    r"(?:os\.walk|os\.scandir|\bi?glob|Dir\.glob|\.rglob|iterdir|readdirSync|list\.files|find(?:depth)?)"
    r"\s*+\((?:[^()\"']{0,80},)?\s*+" + _QUOTED
)
# What stands between a text and what is appended to it.
_JOINS: Final = re.compile(r"[\s+.,]*+")
# `Dir["/etc/*"]`, `</etc/*>`.
_GLOBBED: Final = re.compile(r"[\"'<]([/~][\w./~-]*?)/(?:\*\*/)?\*[\"'>]")
_WALKED_PATH: Final = re.compile(
    r"(?:Path\(\s*+)?" + _QUOTED + r"\s*+\)?\.(?:rglob|glob|iterdir|walk|children|each_child)\b"
)
_REMOVES: Final = re.compile(
    r"\b(?:os\.(?:remove|unlink|rmdir)|file\.remove|unlink(?:Sync)?|rmtree|rmSync|File\.delete|rm_rf?|(?:os\.|File\.)?l?ch(?:mod|own)(?:Sync)?)\b"
)
# By a command, or since nothing is left of it.
_RUINS: Final = re.compile(
    _REMOVES.pattern + r"|[\"'`]rm\s+-|\.unlink\(|\bopen\(\s*\w+\s*,\s*[\"']w|\btruncate\("
)
# The whole environment, as text to send.
_ENVIRONMENT: Final = re.compile(
    r"(?:JSON\.stringify|json\.dumps|str|dict|repr|to_json|inspect)\s*+\(\s*+(?:dict\(\s*+)?"
    r"(?:process\.env|os\.environ|ENV)\s*+\)|ENV\.(?:to_h|to_json|inspect)|\bENV\.to_a"
)
_SECRET_PATH: Final = re.compile(
    r"[\"']([^\"'\n]*(?:\.ssh/|\.gnupg|\.aws/|\.kube/|\.netrc|\.git-credentials|/etc/shadow|\.npmrc|\.pypirc|\.pgpass"
    r"|\.docker/config|\.config/g|\.vault-token|\.azure|\.password-store|_history)[^\"'\n]*)"
)
_FETCH: Final = re.compile(
    r"urlopen|urllib|requests\.|httpx|http\.get|https\.get|fetch\(|LWP|open-uri|URI\.open|Net::HTTP"
    r"|HTTP::|curl_exec|file_get_contents\(\s*['\"]https?:|socket|['\"]requests['\"]|\bdownload\("
    r"|['\"]https?['\"]\)|(?i:WebClient|Invoke-WebRequest|Invoke-RestMethod|\biwr\b|\birm\b|DownloadString)"
    r"|url-copy-file|url-retrieve|(?:source|include|import|load)\(\s*['\"]https?:"
)
_EXECUTE: Final = re.compile(
    r"\bexec\b|\bos\.(?:exec|spawn|posix_spawn)\w*|\beval\b|\bFunction\(|\bcompile\(|os\.system|\bsystem\b|\binclude\(|\bsource\("
    r"|(?i:\biex\b|Invoke-Expression)|load-file|eval-buffer"
)
_CONNECTING: Final = re.compile(
    r"socket\.socket|create_connection|fsockopen|TCPSocket|IO::Socket|net\.(?:connect|Socket)"
    r"|sockaddr_in|socket\.tcp|/inet/tcp/|\bsocket\s*+\(|require\([\"'](?:node:)?(?:net|tls)[\"']\)|Deno\.connect"
    r"|\bnet\.Dial|TcpStream::connect|TCPClient|\bsocket\s+[\w.]+\s+\d"
)
_SHELL: Final = re.compile(
    r"/bin/(?:ba|da|z|k)?sh\b|[\"'](?:ba|da|z)?sh[\"' ]|IO\.popen|pty\.spawn|\w\s*\|&?\s*getline"
    r"|\b(?:system|exec|eval)\b\s*\(?\s*\$"
)
_KILLING: Final = re.compile(
    r"(?:os\.kill|process\.kill|Process\.kill|\bkill)\s*+\(?\s*+(?:['\"]?\w++['\"]?,\s*+)?-?1\b"
)

_BECOMES_ROOT: Final = re.compile(
    r"\bset(?:res|re|e)?[ug]id\s*+\(?\s*+0\b|\$[<>]\s*+=\s*+0\b|Process(?:\.|::)e?uid\s*+=\s*+0\b"
)
# A path on which a method is called that deletes it: `File("/home").deleteRecursively()`.
_DELETED_OBJECT: Final = re.compile(
    r"(?:File|Paths?|Pathname|Folder|Directory|Dir)\w*+(?:[.:]{1,2}\w++)?\s*+\(\s*+"
    + _QUOTED
    + r"\s*+\)++\s*+\.\s*+(?i:remove|delete|unlink|rm|rmtree|erase)\w*+"
)
# Unquoted commands: `!rm -rf ~`, `$[rm -rf ~]`, `syscmd(rm -rf ~)`, `COMMAND rm -rf /`.
_BARE_COMMAND: Final = re.compile(
    r"(?:^[ \t]*+!|\$[\[(]|![\[(]|%x[\[({]|%\(|syscmd\(`?|\bCOMMAND\s|\bexec\s|\\write18\s*\{"
    # Tasks of a playbook or a pipeline.
    r"|^[ \t-]*+(?:[\w.]+\.)?(?:command|shell|raw|cmd|script|run|entry)[ \t]*+:)[ \t]*+[\"']?([\w./](?:'~'|[^\])}'\n;])*+)",
    re.MULTILINE,
)
# A path that no quotes surround, behind a command of PowerShell, cmd or Tcl.
_BARE_TARGET: Final = re.compile(
    r"(?i)(?:^|[;|&{(\n]|/c\s)[^\S\n]*+(?:Remove-Item|\bri|\brd|\brmdir|\bdel|\berase|\brm|file\s+delete)"
    r"(?:\s+(?:-\w+|/\w(?=\s)))++\s+([^\s;|&'\"]+)"
)
_DRIVE: Final = re.compile(r"(?i)[a-z]:[\\/]*(?:\*|users|windows|program files.*)?[\\/]*\*?")
_FORMATS: Final = re.compile(
    r"(?i)(?:^|[;&|\n]|/c\s)[^\S\n]*+format(?:\.com)?\s+[a-z]:|\bFormat-Volume\b|\bClear-Disk\b"
)
_MOST_EXECUTED: Final = 4
_MOST_WRITTEN: Final = 12
# A start file of a shell, and what writes.
_STARTUP_FILE: Final = re.compile(
    r"\.(?:bashrc|zshrc|profile|bash_profile|zprofile|zshenv|bash_login|kshrc)[\"']"
)
_WRITES: Final = re.compile(
    r"[\"'](?:a|w|>>?)[bt+]*[\"']|write_text|append|file_put_contents|writeFile"
)
# A call that runs text, with what was read in its arguments.
_RUNS_INPUT: Final = re.compile(
    r"\b(?:system|exec\w*|eval|popen|spawn\w*|run|call|check_output|getoutput|qx|Function|instance_eval)\b[^;\n]{0,80}?"
    r"(?:\$_\b|<STDIN>|<>|\bstdin\b|\bSTDIN\b|\binput\(|\bgets\b|ARGF|readline|readFileSync\(0|php://stdin|io\.read|\$0\b)"
)
_LONGEST_READ: Final = 4_000
# `os.chdir("/")`: the commands after it run there.
_ENTERED: Final = re.compile(r"\bchdir\w*\s*\(?\s*[\"']([/~][\w./~-]*)[\"']")
# Looks at a command line found inside the code.
Look = Callable[[str], Iterator[Reason]]


def find_code_damage(
    code: str, options: str, places: CriticalPaths, cwd: str | None, look: Look
) -> Iterator[str]:
    """Reasons to refuse the code. `options` may import what it uses."""
    if not _only_prints(code):
        told = without_line_ends(code)
        yield from dict.fromkeys(_with_constants(told, options, places, cwd, look))


def _with_constants(
    code: str, options: str, places: CriticalPaths, cwd: str | None, look: Look
) -> Iterator[str]:
    """Reasons to refuse the code as it stands, and with its constants computed."""
    yield from _damage(code, options, places, cwd, look)
    # What is decoded and only shown is not done.
    runs = _EXECUTE.search(code) is not None or starts_programs(code)
    folded = fold_code(code, decodes=runs)
    if folded != code:
        yield from _damage(folded, options, places, cwd, look)
    for text in islice(command_literals(folded), _MOST_EXECUTED):
        yield from (reason.text for reason in look(text))
    for text in executed_literals(folded)[:_MOST_EXECUTED]:
        yield from _damage(text, options, places, cwd, look)


def _damage(
    code: str, options: str, places: CriticalPaths, cwd: str | None, look: Look
) -> Iterator[str]:
    for match in _DELETING.finditer(code):
        rest = code[match.end() :]
        target = re.match(_QUOTED, rest)
        if target and _dear(target.group(1) or "", places, cwd):
            yield f"{messages.CODE_DELETES.format(path=target.group(1))}; {messages.USE_WORKSPACE_FILES}"
        elif (home := _HOME.match(rest)) and _BELOW_HOME.match(rest, home.end()) is None:
            yield f"{messages.CODE_DELETES_HOME}; {messages.USE_WORKSPACE_FILES}"
    yield from _deleted_otherwise(code, places, cwd)
    for path, mode in _opened(code):
        writes = mode is None or any(letter in mode for letter in "wa+>x")
        if writes and path.startswith("/") and places.system_target(path, cwd) is not None:
            yield f"{messages.CODE_WRITES.format(path=path)}; {messages.USE_WORKSPACE_FILES}"
    yield from _sent_secrets(code, places, cwd)
    yield from _process_damage(code, options)
    for text in _decoded(code):
        yield from _damage(text, options, places, cwd, look)
        yield from (reason.text for reason in look(text))
    if _STARTUP_FILE.search(code) and _WRITES.search(code):
        # What it writes there runs at the next login.
        for match in islice(re.finditer(_QUOTED, code), _MOST_WRITTEN):
            yield from (reason.text for reason in look((match[1] or "").replace("\\n", "\n")))
    entered = _ENTERED.search(code)
    start = f"cd {entered[1]}; " if entered else ""
    for command in _commands(code):
        yield from (reason.text for reason in look(start + command))


def runs_its_input(code: str) -> bool:
    """Whether code runs what it reads: `perl -ne 'system($_)'`, `exec(sys.stdin.read())`."""
    return _RUNS_INPUT.search(code[:_LONGEST_READ]) is not None


def deletes_its_input(code: str) -> bool:
    """Whether code deletes what it is told on standard input: `perl -ne 'chomp; unlink'`."""
    return _REMOVES.search(code) is not None


def _only_prints(code: str) -> bool:
    """Whether the code is Python that prints texts, whatever they say, and calls nothing else."""
    tree = parse_python(code) if "print" in code else None
    if tree is None:
        return False
    kinds = (ast.Module, ast.Expr, ast.Call, ast.Name, ast.Constant, ast.BinOp, ast.operator)
    return all(
        isinstance(node, (*kinds, ast.expr_context))
        and (not isinstance(node, ast.Call) or called_name(node) in ("print", "len", "repr"))
        for node in ast.walk(tree)
    )


def _deleted_otherwise(code: str, places: CriticalPaths, cwd: str | None) -> Iterator[str]:
    """Deletions by a method of a path, by a walk over a tree, or by a command without quotes."""
    patterns = (_WALKED, _WALKED_PATH, _GLOBBED)
    walked = chain.from_iterable(pattern.finditer(code) for pattern in patterns)
    removed = [match[1] or "" for match in walked] if _RUINS.search(code) else []
    objects = [match[1] or "" for match in _DELETED_OBJECT.finditer(code)]
    bare = [match[1] for match in _BARE_TARGET.finditer(code)]
    for path in (*objects, *bare, *removed):
        if _dear(path, places, cwd) or _DRIVE.fullmatch(path):
            yield f"{messages.CODE_DELETES.format(path=path)}; {messages.USE_WORKSPACE_FILES}"
    for match in _FORMATS.finditer(code):
        yield f"{messages.CODE_DELETES.format(path=match[0])}; {messages.USE_WORKSPACE_FILES}"


def _decoded(code: str) -> Iterator[str]:
    """The texts in code that decodes base64 or hexadecimal digits and executes them."""
    if _HEXADECIMAL.search(code) and _EXECUTE.search(code):
        for match in re.finditer(_QUOTED, code):
            with suppress(ValueError):
                yield bytes.fromhex(match[1] or "").decode()
    if _BASE64.search(code) is None or _EXECUTE.search(code) is None:
        return
    for match in re.finditer(_QUOTED, code):
        with suppress(ValueError):
            text = base64.b64decode(match[1] or "", validate=True).decode()
            if text.isprintable() and _BASE64.search(text) is None:
                yield text


def _sent_secrets(code: str, places: CriticalPaths, cwd: str | None) -> Iterator[str]:
    if _FETCH.search(code) is None and _CONNECTING.search(code) is None:
        return
    paths = [match[1] for match in _SECRET_PATH.finditer(code)]
    # `Dir.home + "/.aws/credentials"`: only the end of the path is in quotes.
    paths += [f"~{path}" for path in paths if path.startswith("/.")]
    found = map(places.expand_home, paths)
    if _ENVIRONMENT.search(code) or any(places.holds_secrets(path, cwd) for path in found):
        yield f"{messages.CODE_SENDS_SECRETS}; {messages.ASK_THE_USER}"


def _process_damage(code: str, options: str) -> Iterator[str]:
    if forks_without_end(code):
        yield f"{messages.CODE_FORKS}; {messages.USE_WORKSPACE_FILES}"
    if _FETCH.search(code + options) and _EXECUTE.search(code):
        yield messages.CODE_RUNS_DOWNLOAD
    if _CONNECTING.search(code) and _SHELL.search(code):
        yield f"{messages.REVERSE_SHELL}; {messages.DOWNLOAD_FIRST}"
    if _BECOMES_ROOT.search(code):
        yield "; ".join(RIGHTS)
    if fills_memory(code):
        yield f"{messages.CODE_FILLS_MEMORY}; {messages.USE_WORKSPACE_FILES}"
    if empties_service(code, options):
        yield "; ".join(CLOUD)
    if _KILLING.search(code):
        yield f"{messages.CODE_KILLS}; {messages.USE_WORKSPACE_FILES}"


def _dear(path: str, places: CriticalPaths, cwd: str | None) -> bool:
    if path.startswith(("/", "~", "..", "./..", "$HOME", "$ENV{HOME}")):
        return places.irreplaceable(places.expand_home(path), cwd) is not None
    return path[:1] == "." and places.is_repository(path, cwd)


def _opened(code: str) -> Iterator[tuple[str, str | None]]:
    for match in _OPENING.finditer(code):
        path = match.group(1) or match.group(2) or ""
        read_by_default = re.match(r"f?open\b", match.group(0)) is not None
        yield path, match.group(3) or ("" if read_by_default else None)
    for match in _PATHED.finditer(code):
        yield match.group(1) or "", None
    for match in _OPENED_HANDLE.finditer(code):
        yield match.group(1), None


def _commands(code: str) -> Iterator[str]:
    """Command lines in calls that start programs: one string, or a list of words."""
    for match in _RUNNING.finditer(code):
        words, position = [], match.end()
        while (one := _LIST.match(code, position)) is not None:
            words.append(one.group(1) or one.group(2) or "")
            position = one.end()
        joined = _JOINS.match(code, position)
        if words and _HOME.match(code[joined.end() if joined else position :]):
            words.append("~")
        if words:
            yield " ".join(words)
    yield from re.findall(r"`([^`]+)`", code)
    yield from (match[1].replace("'~'", "~") for match in _BARE_COMMAND.finditer(code))
    yield from (match[1] or match[2] for match in _EXECUTED_STRING.finditer(code))
