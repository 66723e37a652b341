"""What an edit tells about the files that it wrote, with servers that answer at once."""

from types import SimpleNamespace

import pytest

from handrail.core.lazy import Lazy
from handrail.core.ports.language_servers import CodeDiagnostic
from handrail.core.problems import ProblemTemplate
from handrail.lsp.edit_diagnostics import EditDiagnostics


def found(line, severity="error", message="wrong", code=""):
    start = SimpleNamespace(line=line - 1)
    return CodeDiagnostic(SimpleNamespace(start=start), severity, message, code=code)


class Servers:
    """One server for all files; `by_path` has what it reports."""

    def __init__(self, **by_path):
        self.by_path = by_path
        self.problem = self.asked_quoted = None
        self.running = True

    def find_running(self, path):
        if path == "/w/off":
            raise ProblemTemplate("unavailable", "no server").error()
        return self if self.running else None

    async def find_current(self, path, *, quoted):
        self.asked_quoted = quoted
        return None if path == "/w/secret" else self

    async def diagnostics(self, document):
        if self.problem is not None:
            raise self.problem
        return self.by_path.get(document.path.removeprefix("/w/"), ())


def load(path):
    return None if path == "denied" else SimpleNamespace(path=f"/w/{path}")


class Edits:
    def __init__(self, servers):
        self.servers = Lazy(lambda: servers)
        self.hook = EditDiagnostics(self.servers, load, 5.0)

    async def write(self, *paths, removed=()):
        _ = self.servers.value
        changes = [SimpleNamespace(path=one, after_hash="h") for one in paths]
        changes += [SimpleNamespace(path=one, after_hash=None) for one in removed]
        return await self.hook.after(None, SimpleNamespace(changes=changes))


async def test_no_server_is_asked_before_one_was_used():
    edits = Edits(Servers())
    result = SimpleNamespace(changes=[SimpleNamespace(path="a", after_hash="h")])

    assert await edits.hook.after(None, result) is None
    assert edits.servers.built is None
    assert await edits.hook.before(None) is None


async def test_errors_and_warnings_are_counted_and_listed():
    servers = Servers(
        a=[found(3), found(9, "warning", "odd\n thing", "W1\n"), found(2, "hint"), found(4)]
    )

    assert await Edits(servers).write("a") == "\n".join(
        [
            "[diagnostics of a: 2 errors, 1 warning]",
            "line 3: error: wrong",
            "line 9: warning: odd thing [W1\\n]",
            "line 4: error: wrong",
        ]
    )
    assert servers.asked_quoted is True


async def test_only_what_is_new_since_the_last_edit_is_listed():
    servers = Servers(a=[found(3)])
    edits = Edits(servers)
    await edits.write("a")
    servers.by_path["a"] = [found(5), found(6), found(7)]

    heading, *lines = (await edits.write("a")).splitlines()
    assert heading.startswith("[diagnostics of a: 3 errors, 2")
    assert lines == ["line 6: error: wrong", "line 7: error: wrong"]
    servers.by_path["a"] = [found(8, code="E1")]
    assert (await edits.write("a")).endswith("line 8: error: wrong [E1]")
    servers.by_path["a"] = [found(1, code="E1")]
    (heading,) = (await edits.write("a")).splitlines()
    assert heading.startswith("[diagnostics of a: 1 error, 0")
    servers.by_path["a"] = []
    assert (await edits.write("a")).endswith(": no errors or warnings]")


@pytest.mark.parametrize(
    ("count", "last"), [(10, "line 10: error: 10"), (12, "[2 more are not listed]")]
)
async def test_ten_lines_are_listed(count, last):
    servers = Servers(a=[found(n, message=str(n)) for n in range(1, count + 1)])

    lines = (await Edits(servers).write("a")).splitlines()

    assert lines[-1] == last
    assert len([line for line in lines if line.startswith("line")]) == 10


async def test_five_files_are_reported_each_once():
    lines = (await Edits(Servers()).write("denied", "off", *"abbcdefg")).splitlines()

    assert [line.split()[2] for line in lines] == ["a:", "b:", "c:", "d:", "e:"]


async def test_removed_denied_and_unknown_files_say_nothing():
    edits = Edits(Servers())

    assert await edits.write("denied", "off", removed=["a"]) is None
    edits.servers.value.running = False
    assert await edits.write("a") is None


async def test_what_is_not_known_is_said():
    servers = Servers()
    edits = Edits(servers)

    unknown = "[diagnostics of {} are not known yet]"
    assert await edits.write("secret") == unknown.format("secret")
    servers.problem = ProblemTemplate("timeout", "slow").error()
    assert await edits.write("a") == unknown.format("a")


async def test_the_file_reported_longest_ago_is_forgotten():
    servers = Servers(**{f"f{n}": [found(1)] for n in range(501)})
    edits = Edits(servers)
    for number in range(500):
        await edits.write(f"f{number}")
    assert "new since" in await edits.write("f0")
    await edits.write("f500")

    assert "new since" in await edits.write("f0")
    assert "new since" not in await edits.write("f1")
