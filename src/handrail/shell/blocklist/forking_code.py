"""Code that starts processes without end: a fork in a loop or recursion that never stops."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator
from typing import Final

from handrail.shell.languages.endless_code import ENDLESS_LOOP

_FORK: Final = re.compile(r"(?:\b|_)fork(?:pty)?\b")
_LOOP: Final = re.compile(
    r"\bwhile\b|\bloop\b|\bfor(?:each)?\b|\buntil\b|\bforever\b|\bredo\b|setInterval", re.IGNORECASE
)
# A group without another in it is one: `for (;;)` is no end of a statement.
_TOKEN: Final = re.compile(r"\([^(){}]*\)|[{};\n]|\w+")
_LONGEST: Final = 20_000
_LONGEST_STARTED: Final = 4_000
# They start a program and go on at once.
_STARTS: Final = re.compile(
    r"\bspawn\b|\bPopen\b|\.exec(?:File)?\s*\(|\bProcess\.(?:spawn|start)|\bos\.spawn\w*|\bsystem\s*\([^)\n]*&\s*[\"']"
    r"|\bstart_new_thread\b|\bCommand::new\b[^;\n]*\.spawn\b|\bproc_open\b|\bposix_spawn\w*|\bcluster\.fork\b|\bWorker\s*\("
)
_HOLDS: Final = re.compile(
    r"\b(?:break|last|exit|return|raise|die|throw|sleep|wait\w*|communicate|accept|recv|read\w*|input|gets|select|await|get|join|poll)\b"
)
# More rounds than this are as good as endless.
_MANY: Final = 64
_WAITS: Final = frozenset(("wait", "waitpid", "wait3", "wait4", "accept"))
_ENDLESS: Final = frozenset(("count", "repeat", "cycle"))


def forks_without_end(code: str) -> bool:
    """Whether the code forks in a loop or recursion that never stops."""
    if _FORK.search(code) is None:
        return _starts_without_end(code[:_LONGEST_STARTED])
    tree = parse_python(code)
    return _in_text(code) if tree is None else _in_python(tree)


def _starts_without_end(code: str) -> bool:
    """Whether code starts programs in a loop without end, and does not wait for any."""
    loop = ENDLESS_LOOP.search(code)
    body = code[loop.end() :] if loop is not None else ""
    return _STARTS.search(body) is not None and _HOLDS.search(body) is None


def parse_python(code: str) -> ast.Module | None:
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
        isinstance(node, ast.Break) or called_name(node) in _WAITS
        for top in body
        for node in ast.walk(top)
    )


def _calls(body: Iterable[ast.AST], name: str) -> bool:
    return any(called_name(node) == name for top in body for node in ast.walk(top))


def called_name(node: ast.AST) -> str | None:
    if not isinstance(node, ast.Call):
        return None
    called = node.func
    if isinstance(called, ast.Attribute):
        return called.attr
    return called.id if isinstance(called, ast.Name) else None


def _unbounded(over: ast.expr) -> bool:
    """Whether the iterable has no end, or a very large one."""
    name = called_name(over)
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
