"""The page of a workspace, in this process and as `handrail ui`."""

import re
import subprocess
import sys
from argparse import Namespace
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import anyio
import httpx2
import pytest
from tests.support.waiting import running

from handrail.cli.commands.setup.ui import page_source
from handrail.cli.parser import parse
from handrail.ui.server import PageServer

HOST = "page.localhost:7000"
PROGRAM = Path(sys.executable).with_name("handrail")


@pytest.fixture
def root(tmp_path):
    place = tmp_path / "shop"
    place.mkdir()
    (place / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    return place


class PageClient(httpx2.AsyncClient):
    """A browser without JavaScript: it has the cookie, and submits the forms of pages."""

    csrf = ""

    async def page(self, path):
        """The text of a page; remembers the token of its forms."""
        answer = await self.get(path)
        found = re.search(r'name="csrf" value="([^"]+)"', answer.text)
        self.csrf = found[1] if found else self.csrf
        return answer

    async def wait_for(self, path, text):
        """The text of a page, as soon as it contains something."""
        with anyio.fail_after(60):
            while text not in (found := (await self.page(path)).text):
                await anyio.sleep(0.05)
        return found

    async def submit(self, path, **fields):
        """Submit a form and follow the redirect."""
        answer = await self.post(
            path, data={"csrf": self.csrf, **fields}, headers={"origin": f"http://{HOST}"}
        )
        if answer.status_code == 303:
            return await self.get(answer.headers["location"])
        return answer


@pytest.fixture
def open_page(root):
    """The application of the page, and a client that is logged in."""

    @asynccontextmanager
    async def opened(*words, log_in=True):
        options = Namespace()
        parse(["-w", str(root), "ui", *words], options)
        server = PageServer(page_source(options), HOST)
        transport = httpx2.ASGITransport(app=server.access)
        try:
            async with PageClient(transport=transport, base_url=f"http://{HOST}") as client:
                client.login_path = server.access.login_path
                if log_in:
                    assert (await client.get(client.login_path)).status_code == 303
                    await client.page("/")
                yield client
        finally:
            await server.aclose()

    return opened


@pytest.fixture
def start_page(root):
    """`handrail ui` as a process; yields the address that it prints."""

    @contextmanager
    def started(*words):
        command = [PROGRAM, "-w", root, "ui", *words]
        with running(subprocess.Popen(command, stdout=subprocess.PIPE, text=True)) as process:
            line = process.stdout.readline()
            yield process, line.removeprefix("open ").strip()

    return started
