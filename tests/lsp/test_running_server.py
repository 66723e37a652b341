"""One server without a program behind it: documents, versions, diagnostics and refusals."""

from types import SimpleNamespace

import pytest

from handrail.core.ports.language_servers import CodeDocument
from handrail.core.problems import ProblemRaised
from handrail.core.text.positions import ServerPosition
from handrail.lsp.answers import MOST_ITEMS, to_uri
from handrail.lsp.catalog import ServerSpec
from handrail.lsp.connection import RemoteError
from handrail.lsp.server import RunningServer, ServerLimits

A = CodeDocument("/w/a.py", "x = 1", "d1")
SETTINGS = {"a": {"b": "text", "on": False}}


class Connection:
    """Keeps what is sent, and answers from a list."""

    ended = False

    def __init__(self, answers=()):
        self.answers = list(answers)
        self.sent = []

    async def request(self, method, params, timeout_s):
        self.sent.append((method, params))
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def notify(self, method, params, timeout_s):
        self.sent.append((method, params))

    async def pump_until(self, known):
        return None

    def problem(self):
        return RuntimeError("ended")

    @property
    def methods(self):
        return [method.rpartition("/")[2] for method, _ in self.sent]


def server(*answers, offers=None, settings=SETTINGS):
    spec = ServerSpec("fake", ("fake",), {".py": "python"}, {"o": 1}, settings)
    made = RunningServer(spec, SimpleNamespace(), ServerLimits(1.0, 1.0, 1.0))
    made.connection = Connection(answers)
    made._offers = offers or {}
    return made


@pytest.mark.parametrize(
    ("answer", "encoding", "offers"),
    [
        ({"capabilities": {"positionEncoding": "utf-8"}}, "utf-8", ["positionEncoding"]),
        ({"capabilities": {"positionEncoding": "ebcdic"}}, "utf-16", ["positionEncoding"]),
        ({"capabilities": {"hoverProvider": True}}, "utf-16", ["hoverProvider"]),
        ({"capabilities": []}, "utf-16", []),
        ({}, "utf-16", []),
        ([], "utf-16", []),
    ],
)
async def test_what_a_server_offers(answer, encoding, offers):
    made = server(answer)
    await made.initialize(["/w", "/v/x"])
    assert (made.name, made.encoding, list(made._offers)) == ("fake", encoding, offers)
    assert made.connection.methods == ["initialize", "initialized", "didChangeConfiguration"]
    params = made.connection.sent[0][1]
    assert params["rootUri"] == to_uri("/w")
    assert [one["name"] for one in params["workspaceFolders"]] == ["w", "x"]
    assert params["initializationOptions"] == {"o": 1}
    assert made.connection.sent[2][1] == {"settings": SETTINGS}


async def test_without_settings_none_are_sent():
    made = server({}, settings={})
    await made.initialize(["/w"])
    assert made.connection.methods == ["initialize", "initialized"]


@pytest.mark.parametrize(
    ("section", "value"),
    [
        ("", SETTINGS),
        ("a", SETTINGS["a"]),
        ("a.b", "text"),
        ("a.on", False),
        ("a.b.c", None),
        ("x", None),
        ("x.y", None),
    ],
)
def test_the_settings_of_a_section(section, value):
    assert server()._setting(section) == value


async def test_a_text_is_sent_once_per_version():
    made = server()
    versions = [await made._sync_document(one) for one in (A, A, A._replace(digest="d2"), A)]
    assert versions == [1, 1, 2, 3]
    assert made.connection.methods == ["didOpen", "didChange", "didChange"]
    opened = made.connection.sent[0][1]["textDocument"]
    assert opened == {
        "uri": to_uri("/w/a.py"),
        "languageId": "python",
        "version": 1,
        "text": "x = 1",
    }
    changed = made.connection.sent[1][1]
    assert changed["textDocument"]["version"] == 2
    assert changed["contentChanges"] == [{"text": "x = 1"}]


async def test_the_document_that_was_not_used_longest_is_closed():
    made = server()
    for number in range(100):
        await made._sync_document(A._replace(path=f"/w/{number}.py"))
    await made._sync_document(A._replace(path="/w/0.py"))
    assert set(made.connection.methods) == {"didOpen"}
    made._pushed[to_uri("/w/1.py")] = (1, [])
    await made._sync_document(A)
    method, params = made.connection.sent[-1]
    assert (method, params["textDocument"]["uri"]) == ("textDocument/didClose", to_uri("/w/1.py"))
    assert len(made._documents) == 100
    assert made._pushed == {}


def published(**changed):
    return {"uri": to_uri("/w/a.py"), "version": 1, "diagnostics": [], **changed}


@pytest.mark.parametrize(
    ("method", "params", "kept"),
    [
        ("textDocument/publishDiagnostics", published(), True),
        ("textDocument/publishDiagnostics", published(uri="file:///w/./a.py"), None),
        ("textDocument/publishDiagnostics", published(uri=to_uri("/w/b.py")), False),
        ("textDocument/publishDiagnostics", published(uri=3), False),
        ("textDocument/publishDiagnostics", published(version=None), False),
        ("textDocument/publishDiagnostics", published(diagnostics=None), False),
        ("textDocument/publishDiagnostics", {}, False),
        ("window/logMessage", published(), False),
    ],
)
async def test_which_diagnostics_are_kept(method, params, kept):
    made = server()
    await made._sync_document(A)
    made._on_notification(method, params)
    if kept is not None:
        assert bool(made._pushed) is kept
        assert (made._known(to_uri("/w/a.py"), 1) is not None) is kept
    assert made._known(to_uri("/w/a.py"), 2) is None


async def test_only_so_many_diagnostics_are_kept():
    made = server()
    await made._sync_document(A)
    many = published(diagnostics=[{}] * (MOST_ITEMS + 1))
    made._on_notification("textDocument/publishDiagnostics", many)
    assert len(made._pushed[to_uri("/w/a.py")][1]) == MOST_ITEMS


@pytest.mark.parametrize(
    ("offers", "offered"),
    [
        ({"hoverProvider": True}, True),
        ({"hoverProvider": {}}, True),
        ({"hoverProvider": False}, False),
        ({}, False),
        ({"hoverProvider": None}, False),
    ],
)
async def test_a_server_is_asked_only_what_it_offers(offers, offered):
    made = server({"contents": "words"}, offers=offers)
    if offered:
        assert await made.hover(A, ServerPosition(0, 0)) == "words"
        assert made.connection.methods == ["didOpen", "hover"]
        return
    with pytest.raises(ProblemRaised):
        await made.hover(A, ServerPosition(0, 0))
    assert made.connection.sent == []


async def test_changed_files_are_reported_once_before_a_request():
    made = server([], [], offers={"workspaceSymbolProvider": True})
    for path in ("/w/b.py", "/w/c.py", "/w/b.py"):
        made.note_change(path)
    assert await made.workspace_symbols("x") == []
    assert await made.workspace_symbols("x") == []
    assert made.connection.methods == ["didChangeWatchedFiles", "symbol", "symbol"]
    changes = made.connection.sent[0][1]["changes"]
    assert changes == [{"uri": to_uri(path), "type": 2} for path in ("/w/b.py", "/w/c.py")]


async def test_diagnostics_are_asked_for_where_the_server_answers():
    made = server({"items": []}, {}, {"items": 3}, [], offers={"diagnosticProvider": {"x": 1}})
    for _ in range(4):
        assert await made.diagnostics(A) == []
    assert made.connection.methods[:2] == ["didOpen", "diagnostic"]


async def test_diagnostics_of_an_older_text_are_not_returned():
    made = server()
    assert await made.diagnostics(A) is None
    made._on_notification("textDocument/publishDiagnostics", published())
    assert await made.diagnostics(A) == []
    assert await made.diagnostics(A._replace(digest="d2")) is None
    made.connection.ended = True
    with pytest.raises(RuntimeError):
        await made.diagnostics(A)


async def test_an_error_of_the_server_is_a_problem():
    made = server(RemoteError(-32603, "no", None))
    with pytest.raises(ProblemRaised) as raised:
        await made._ask("x", {}, 1.0)
    assert raised.value.problem.code == "command_failed"


@pytest.mark.parametrize("code", [-32800, -32801, -32802])
async def test_a_dropped_request_is_sent_again(code):
    made = server(RemoteError(code, "again", None), 7)
    assert await made._ask("x", {}, 5.0) == 7
    assert len(made.connection.sent) == 2
