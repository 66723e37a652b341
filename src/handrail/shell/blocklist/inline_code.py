"""Catastrophes in code passed to an interpreter, found by patterns.

Looks for a dangerous call together with its target; code that only mentions one is allowed. Fork bombs in shell functions are found by what the functions run.
"""

from __future__ import annotations

import ast
import base64
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Final

from handrail.core.commands import Reason
from handrail.shell.blocklist import messages
from handrail.shell.blocklist.critical_paths import CriticalPaths

_FORK: Final = re.compile(r"(?:\b|_)fork(?:pty)?\b")
_LOOP: Final = re.compile(
    r"\bwhile\b|\bloop\b|\bfor(?:each)?\b|\buntil\b|\bforever\b|\bredo\b|setInterval", re.IGNORECASE
)
# A group without another in it is one: `for (;;)` is no end of a statement.
_TOKEN: Final = re.compile(r"\([^(){}]*\)|[{};\n]|\w+")
_LONGEST: Final = 20_000
# More rounds than this are as good as endless.
_MANY: Final = 64
_WAITS: Final = frozenset(("wait", "waitpid", "wait3", "wait4", "accept"))
_ENDLESS: Final = frozenset(("count", "repeat", "cycle"))

_QUOTED: Final = r"""(?:[rbfu]{0,2}["']([^"'\n]*)["']|%q\(([^)]*)\))"""
_DELETING: Final = re.compile(
    # Functions that delete files; `remove` and `delete` alone belong to lists, maps and routes, too.
    r"(?:rmtree|rmSync|rmdirSync|rmdir|rm_rf!?|rm_r|remove_(?:dir(?:_all)?|entry(?:_secure)?|tree|all|file)"
    r"|(?i:\b(?:remove|delete)-?(?:directory|dir|folder|tree|item|path|file|all)(?![a-z]*prefix)[\w/!-]*+)"
    r"|removedirs|rimraf|unlinkSync|unlink|rename|renameSync|\bmove|\brm|removeSync|emptyDirSync"
    r"|(?i:\b(?:os|fs|fse|Deno|File|Files|Directory|FileUtils|FileSystem|Dir|Pathname|filesystem)"
    r"(?:\.|::)(?:remove|delete)\w*+)|delete_recursively|deleteRecursively|chmod|chown"
    r"|Remove-Item(?:\s+-\w+)*+|\bri(?:\s+-\w+)++|\br[dm](?:\s+[-/]\w+)++|\bdel(?:\s+/\w+)++"
    r"|\bfile\s+delete(?:\s+-\w+)*+)"
    r"\s*+\(?\s*+(?:new\s++)?+(?:(?:glob|at\w*|#p|\w*[pP]ath|File)\s*+(?:[:(]\s*+|(?=[\"'])))?"
)
_HOME: Final = re.compile(
    r"^(?:\w+[.:]{1,2})*(?:expanduser\(|homedir\(|\w*[hH]ome_?[dD]ir\w*!?\(|user_home!?|Path\.home\(|home\(|require\(['\"]os['\"]\)\.homedir"
    r"|ENV\[['\"]HOME|\$ENV\{['\"]?HOME|process\.env\.HOME|os\.environ\[['\"]HOME|getenv\(['\"]HOME"
    r"|Dir\.home)"
)
_OPENING: Final = re.compile(
    r"(?:open|write_text|write_bytes|writeFileSync|writeFile|file_put_contents|fopen|File\.write"
    r"|createWriteStream|truncate)\s*+\(?\s*+" + _QUOTED + r"\s*+(?:,\s*+[\"']([^\"']*))?"
)
_PATHED: Final = re.compile(r"Path\(\s*+" + _QUOTED + r"\s*+\)\.(?:write_\w+|unlink|rmdir|open)")
_RUNNING: Final = re.compile(
    r"(?:(?i:exec\.Command(?:Context)?|system(?:\.cmd)?|popen\w*|exec\w*|spawn\w*|Command::new|ProcessBuilder|proc_open"
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
    r"(?:os\.walk|os\.scandir|glob\.i?glob|Dir\.glob|\.rglob|iterdir|readdirSync|find)"
    r"\s*+\((?:[^()\"']{0,80},)?\s*+" + _QUOTED
)
_REMOVES: Final = re.compile(
    r"\b(?:os\.(?:remove|unlink|rmdir)|unlink(?:Sync)?|rmtree|rmSync|File\.delete|rm_rf)\b"
)
# The whole environment, as text to send.
_ENVIRONMENT: Final = re.compile(
    r"(?:JSON\.stringify|json\.dumps|str|dict|repr|to_json|inspect)\s*+\(\s*+(?:dict\(\s*+)?"
    r"(?:process\.env|os\.environ|ENV)\s*+\)|ENV\.(?:to_h|to_json|inspect)|\bENV\.to_a"
)
_SECRET_PATH: Final = re.compile(
    r"[\"']([^\"'\n]*(?:\.ssh/|\.gnupg|\.aws/|\.kube/|\.netrc|\.git-credentials|/etc/shadow)[^\"'\n]*)"
)
_FETCH: Final = re.compile(
    r"urlopen|urllib|requests\.|httpx|http\.get|https\.get|fetch\(|LWP|open-uri|URI\.open|Net::HTTP"
    r"|HTTP::|curl_exec|file_get_contents\(\s*['\"]https?:|socket|['\"]requests['\"]|\bdownload\("
    r"|['\"]https?['\"]\)|(?i:WebClient|Invoke-WebRequest|Invoke-RestMethod|\biwr\b|\birm\b|DownloadString)"
    r"|url-copy-file|url-retrieve|(?:source|include|import|load)\(\s*['\"]https?:"
)
_EXECUTE: Final = re.compile(
    r"\bexec\b|\beval\b|\bFunction\(|\bcompile\(|os\.system|\bsystem\b|\binclude\(|\bsource\("
    r"|(?i:\biex\b|Invoke-Expression)|load-file|eval-buffer"
)
_CONNECTING: Final = re.compile(
    r"socket\.socket|create_connection|fsockopen|TCPSocket|IO::Socket|net\.(?:connect|Socket)"
    r"|sockaddr_in|socket\.tcp|/inet/tcp/|\bsocket\s*+\(|require\([\"']net[\"']\)\.\w+|Deno\.connect"
)
_SHELL: Final = re.compile(
    r"/bin/(?:ba|da|z|k)?sh\b|[\"'](?:ba|da|z)?sh[\"' ]|IO\.popen|pty\.spawn|\w\s*\|&?\s*getline"
)
_KILLING: Final = re.compile(
    r"(?:os\.kill|process\.kill|Process\.kill|\bkill)\s*+\(?\s*+(?:['\"]?\w++['\"]?,\s*+)?-?1\b"
)

# A path on which a method is called that deletes it: `File("/home").deleteRecursively()`.
_DELETED_OBJECT: Final = re.compile(
    r"(?:File|Paths?|Pathname|Folder|Directory|Dir)\w*+(?:[.:]{1,2}\w++)?\s*+\(\s*+"
    + _QUOTED
    + r"\s*+\)++\s*+\.\s*+(?i:remove|delete|unlink|rm|rmtree|erase)\w*+"
)
# Unquoted commands: `!rm -rf ~`, `$[rm -rf ~]`, `syscmd(rm -rf ~)`, `COMMAND rm -rf /`.
_BARE_COMMAND: Final = re.compile(
    r"(?:^\s*!|\$[\[(]|![\[(]|%x[\[({]|%\(|syscmd\(`?|\bCOMMAND\s|\bexec\s)\s*+([\w./][^\])}'\n;]*)",
    re.MULTILINE,
)
# A path that no quotes surround, behind a command of PowerShell, cmd or Tcl.
_BARE_TARGET: Final = re.compile(
    r"(?i)(?:^|[;|&{(\n]|/c\s)\s*(?:Remove-Item|\bri|\brd|\brmdir|\bdel|\berase|\brm|file\s+delete)"
    r"(?:\s+(?:-\w+|/\w(?=\s)))++\s+([^\s;|&'\"]+)"
)
_DRIVE: Final = re.compile(r"(?i)[a-z]:[\\/]*(?:\*|users|windows|program files.*)?[\\/]*\*?")
_FORMATS: Final = re.compile(
    r"(?i)(?:^|[;&|\n]|/c\s)\s*format(?:\.com)?\s+[a-z]:|\bFormat-Volume\b|\bClear-Disk\b"
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
    yield from _deleted_otherwise(code, places, cwd)
    for path, mode in _opened(code):
        writes = mode is None or any(letter in mode for letter in "wa+>x")
        if writes and path.startswith("/") and places.system_target(path, cwd) is not None:
            yield f"{messages.CODE_WRITES.format(path=path)}; {messages.USE_WORKSPACE_FILES}"
    for match in _WALKED.finditer(code) if _REMOVES.search(code) else ():
        if _dear(match[1] or "", places, cwd):
            yield f"{messages.CODE_DELETES.format(path=match[1])}; {messages.USE_WORKSPACE_FILES}"
    yield from _sent_secrets(code, places, cwd)
    yield from _process_damage(code, options)
    for text in _decoded(code):
        yield from find_code_damage(text, options, places, cwd, look)
        yield from (reason.text for reason in look(text))
    for command in _commands(code):
        yield from (reason.text for reason in look(command))


def _deleted_otherwise(code: str, places: CriticalPaths, cwd: str | None) -> Iterator[str]:
    """Deletions by a method of a path, or by a command without quotes."""
    objects = [match[1] or "" for match in _DELETED_OBJECT.finditer(code)]
    bare = [match[1] for match in _BARE_TARGET.finditer(code)]
    for path in (*objects, *bare):
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
        if words and _HOME.match(code[position:]):
            words.append("~")
        if words:
            yield " ".join(words)
    yield from re.findall(r"`([^`]+)`", code)
    yield from (match[1] for match in _BARE_COMMAND.finditer(code))
    yield from (match[1] or match[2] for match in _EXECUTED_STRING.finditer(code))


def forks_without_end(code: str) -> bool:
    """Whether the code forks in a loop or recursion that never stops."""
    if _FORK.search(code) is None:
        return False
    tree = _python(code)
    return _in_text(code) if tree is None else _in_python(tree)


def _python(code: str) -> ast.Module | None:
    """The code as a Python tree; None if it is not Python."""
    if len(code) > _LONGEST:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _in_python(tree: ast.Module) -> bool:
    nodes = list(ast.walk(tree))
    names = _forking_names(nodes)
    return any(_endless(node, names) for node in nodes)


def _forking_names(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Every name that stands for fork: aliases, and functions that call it."""
    names = {"fork", "forkpty"}
    bound = list(_bindings(nodes))
    grown = True
    while grown:
        found = {name for name, source in bound if _mentions([source], names)}
        grown = not found <= names
        names |= found
    return frozenset(names)


def _bindings(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, ast.AST]]:
    for node in nodes:
        match node:
            case ast.ImportFrom() | ast.Import():
                for one in node.names:
                    yield one.asname or one.name, ast.Name(one.name)
            case ast.Assign():
                for target in node.targets:
                    if isinstance(target, ast.Name) and not isinstance(node.value, ast.Call):
                        yield target.id, node.value
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                for statement in node.body:
                    yield node.name, statement


def _mentions(nodes: Iterable[ast.AST], names: Iterable[str]) -> bool:
    wanted = frozenset(names)
    return any(_is_one(node, wanted) for top in nodes for node in ast.walk(top))


def _is_one(node: ast.AST, names: frozenset[str]) -> bool:
    match node:
        case ast.Name():
            return node.id in names
        case ast.Attribute():
            return node.attr in names
        case ast.Constant(value=str(text)):
            # Looked up by its name, or run as text.
            return _FORK.search(text) is not None
    return False


def _endless(node: ast.AST, names: frozenset[str]) -> bool:
    match node:
        case ast.While():
            if _mentions([node.test], names):
                return True
            always = isinstance(node.test, ast.Constant) and bool(node.test.value)
            return always and _mentions(node.body, names) and not _stops(node.body)
        case ast.For() | ast.AsyncFor():
            return _unbounded(node.iter) and _mentions(node.body, names)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            loops = any(_unbounded(one.iter) for one in node.generators)
            return loops and _mentions([node], names)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return _mentions(node.body, names - {node.name}) and _calls(node.body, node.name)
    return False


def _stops(body: Iterable[ast.AST]) -> bool:
    """Whether the body of an endless loop breaks, or waits for processes."""
    return any(
        isinstance(node, ast.Break) or _name_called(node) in _WAITS
        for top in body
        for node in ast.walk(top)
    )


def _calls(body: Iterable[ast.AST], name: str) -> bool:
    return any(_name_called(node) == name for top in body for node in ast.walk(top))


def _name_called(node: ast.AST) -> str | None:
    if not isinstance(node, ast.Call):
        return None
    called = node.func
    if isinstance(called, ast.Attribute):
        return called.attr
    return called.id if isinstance(called, ast.Name) else None


def _unbounded(over: ast.expr) -> bool:
    """Whether the iterable has no end, or a very large one."""
    name = _name_called(over)
    if not isinstance(over, ast.Call) or name is None:
        return False
    if name == "range":
        return any(_size(one) > _MANY for one in over.args)
    if name == "iter":
        return len(over.args) > 1
    return name in _ENDLESS


def _size(node: ast.expr) -> int:
    """The value of a literal number; an expression counts as large."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    return _MANY + 1 if isinstance(node, ast.BinOp) else 0


def _in_text(code: str) -> bool:
    """Whether a fork is in the body of a loop, or in one statement with a loop keyword."""
    bodies: list[bool] = []
    loops = forks = False
    for token in _TOKEN.findall(code):
        word = token.lower()
        if word in ("{", "do"):
            bodies.append(loops)
            loops = forks = False
        elif word in ("}", "end"):
            del bodies[-1:]
            loops = forks = False
        elif word in (";", "\n"):
            loops = forks = False
        else:
            loops = loops or _LOOP.search(word) is not None
            forks = forks or _FORK.search(word) is not None
        if forks and (loops or any(bodies)):
            return True
    return False
