"""A resolver with known answers, a transport that records where requests go, and a web server."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

CORPUS = Path(__file__).resolve().parents[1] / "data" / "corpus"


def rows(name: str) -> list[dict]:
    """The rows of one file of the corpus."""
    return [json.loads(line) for line in (CORPUS / name).read_text("utf-8").splitlines()]


@dataclass
class Names:
    """A resolver that counts its questions. A name with several answers gives them one by one."""

    answers: dict[str, list[list[str]]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    @classmethod
    def of_row(cls, row: dict) -> "Names":
        answers = {name: [found] for name, found in row.get("dns", {}).items()}
        return cls(answers | {k: list(v) for k, v in row.get("dns_sequence", {}).items()})

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        found = self.answers.get(host, [[]])
        return found.pop(0) if len(found) > 1 else found[0]


class Connections(httpx2.AsyncBaseTransport):
    """Takes the place of real connections; records address, host and path of each request."""

    def __init__(self, redirects: list[str] | None = None) -> None:
        self.made: list[tuple[str, str, str]] = []
        self._redirects = list(redirects or ())

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.made.append((request.url.host, request.headers["host"], request.url.path))
        if self._redirects:
            return httpx2.Response(302, headers={"location": self._redirects.pop(0)})
        return httpx2.Response(200, stream=httpx2.ByteStream(b"hello"))


Handler = Callable[[str, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Site:
    """A running web server: its port, and the paths that were requested."""

    port: int
    requests: list[str] = field(default_factory=list)

    @property
    def host(self) -> str:
        return f"localhost:{self.port}"

    def url(self, path: str = "/") -> str:
        return f"http://{self.host}{path}"


@asynccontextmanager
async def serve(pages: dict[str, bytes | Handler]) -> AsyncIterator[Site]:
    """Serve pages on loopback. Bytes are a whole answer if they begin with `HTTP/`, else a page;
    a function writes its answer itself.
    """
    site = Site(0)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            path = head.split(" ")[1]
            site.requests.append(path)
            page = pages.get(path.partition("?")[0], b"HTTP/1.1 404 Not Found\r\n\r\nno such page")
            if isinstance(page, bytes):
                writer.write(page if page.startswith(b"HTTP/") else http(page))
                await writer.drain()
            else:
                await page(path, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()


def http(body: bytes, content_type: str = "text/html; charset=utf-8", **headers: str) -> bytes:
    """An answer with a body."""
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    lines += [f"Content-Type: {content_type}", f"Content-Length: {len(body)}"]
    return ("HTTP/1.1 200 OK\r\n" + "\r\n".join(lines) + "\r\n\r\n").encode() + body
