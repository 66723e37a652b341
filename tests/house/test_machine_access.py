"""Core, policy, engine and tools read the machine through ports only."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "handrail"
PACKAGES = ("core", "policy", "engine", "tools")
FILES = [path for package in PACKAGES for path in sorted((SOURCE / package).rglob("*.py"))]
# Functions of `os` that look at the file system, the environment or processes.
OS = frozenset(
    {
        *("stat", "lstat", "fstat", "open", "listdir", "scandir", "walk", "readlink", "access"),
        *("environ", "getenv", "getcwd", "getcwdb", "kill", "fork", "system", "popen", "remove"),
        *("unlink", "rename", "replace", "mkdir", "makedirs", "rmdir", "chmod", "chown", "link"),
        *("symlink", "truncate", "utime", "posix_spawn", "execv", "execve", "getuid", "cpu_count"),
    }
)
OS_PATH = frozenset(
    {
        *("exists", "lexists", "isfile", "isdir", "islink", "ismount", "realpath", "samefile"),
        *("getsize", "getmtime", "getctime", "getatime", "expanduser", "expandvars", "abspath"),
    }
)
TIME = frozenset({"time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "sleep"})
PATH_METHODS = frozenset(
    {
        *("read_text", "read_bytes", "write_text", "write_bytes", "iterdir", "rglob", "is_file"),
        *("is_dir", "is_symlink", "lstat", "samefile", "touch", "rmdir", "expanduser", "cwd"),
    }
)
MODULES = frozenset(
    {"socket", "subprocess", "shutil", "tempfile", "multiprocessing", "select", "urllib.request"}
)


def accesses(tree):
    """Each place of a module that uses the machine itself, as text."""
    for node in ast.walk(tree):
        text = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
        owner, _, name = text.rpartition(".")
        if (
            (owner == "os" and name in OS)
            or (owner in ("os.path", "posixpath") and name in OS_PATH)
            or (owner == "time" and name in TIME)
            or (owner in ("datetime", "date", "datetime.datetime") and name in ("now", "today"))
            or (owner == "Path" and name in ("home", "cwd"))
        ):
            yield f"{node.lineno}: {text}"
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id == "open":
                yield f"{node.lineno}: open()"
            elif isinstance(node.func, ast.Attribute) and node.func.attr in PATH_METHODS:
                made = node.func.value
                if isinstance(made, ast.Call) and ast.unparse(made.func) == "Path":
                    yield f"{node.lineno}: {ast.unparse(node.func)}"
        elif isinstance(node, ast.Import):
            yield from (f"{node.lineno}: {one.name}" for one in node.names if one.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            yield f"{node.lineno}: {node.module}"


@pytest.mark.parametrize("path", FILES, ids=lambda one: one.relative_to(SOURCE).as_posix())
def test_nothing_here_reads_the_machine_itself(path):
    assert list(accesses(ast.parse(path.read_text("utf-8")))) == []


@pytest.mark.parametrize(
    "code",
    [
        "import os\nos.stat('a')",
        "import os\nos.path.exists('a')",
        "import os\nos.environ['A']",
        "open('a')",
        "import time\ntime.time()",
        "import subprocess",
        "from socket import socket",
        "from pathlib import Path\nPath('a').read_text()",
    ],
)
def test_what_reads_the_machine_is_recognized(code):
    assert list(accesses(ast.parse(code)))
