"""Programs that we did not write: the inspector, a client on another SDK, the conformance suite."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.mcp.server.conftest import ROOT, SCRIPT

pytestmark = [pytest.mark.needs_mcp_programs, pytest.mark.timeout(300)]

HERE = Path(__file__).parent
PAGE = ROOT / "docs" / "mcp-conformance.md"


def run(command, **given):
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=240, **given
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def inspect(node_tools, tmp_path, *words):
    node, modules = node_tools
    env = {**os.environ, "HOME": str(tmp_path), "MCP_CATALOG_PATH": str(tmp_path / "catalog.json")}
    program = modules / ".bin" / "mcp-inspector"
    return json.loads(run([node, program, "--cli", *map(str, words)], env=env))


def test_the_inspector_lists_and_calls_over_stdio(node_tools, root, tmp_path):
    server = (SCRIPT, "serve", "-w", root)

    listed = inspect(node_tools, tmp_path, *server, "--method", "tools/list")
    called = inspect(
        node_tools, tmp_path, *server,
        "--method", "tools/call", "--tool-name", "read_file", "--tool-arg", "path=a.txt",
    )  # fmt: skip

    assert "read_file" in [tool["name"] for tool in listed["tools"]]
    assert called["content"][0]["text"] == "hello"


def test_the_inspector_lists_and_calls_over_http(node_tools, serve_http, tmp_path):
    server = serve_http()
    place = (server.url, "--transport", "http")
    token = ("--header", f"Authorization: {server.headers['Authorization']}")

    listed = inspect(node_tools, tmp_path, *place, "--method", "tools/list", *token)
    called = inspect(
        node_tools, tmp_path, *place,
        "--method", "tools/call", "--tool-name", "read_file", "--tool-arg", "path=a.txt", *token,
    )  # fmt: skip

    assert "read_file" in [tool["name"] for tool in listed["tools"]]
    assert called["content"][0]["text"] == "hello"


@pytest.fixture
def typescript(node_tools, tmp_path):
    node, modules = node_tools
    # Node looks for modules beside the script.
    script = shutil.copy(HERE / "typescript_client.mjs", tmp_path)
    (tmp_path / "node_modules").symlink_to(modules)
    return lambda *words: json.loads(run([node, script, *map(str, words)]))


def test_a_client_on_another_sdk_lists_calls_and_approves_over_stdio(typescript, root):
    said = typescript("stdio", SCRIPT, "serve", "-w", root)

    assert "read_file" in said["tools"]
    assert (said["text"], said["data"]["path"]) == ("hello", "a.txt")
    assert (said["asked"], said["written"]) == (["no", "yes", "always"], False)
    assert (root / "b.txt").read_text() == "x\n"


def test_a_client_on_another_sdk_lists_calls_and_approves_over_http(typescript, serve_http, root):
    server = serve_http()
    call, approval = server.headers["Authorization"][7:], server.approving["Handrail-Approval"]

    said = typescript("http", server.url, call, approval)

    assert (said["text"], said["asked"], said["written"]) == (
        "hello",
        ["no", "yes", "always"],
        False,
    )
    assert (root / "b.txt").read_text() == "x\n"


@pytest.fixture
def conformance_url(tmp_path):
    place = tmp_path / "fixture"
    place.mkdir()
    command = [sys.executable, HERE / "conformance_server.py", place]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_the_conformance_suite_passes_but_for_what_the_page_lists(
    node_tools, conformance_url, tmp_path, version
):
    node, modules = node_tools
    suite = modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    done = subprocess.run(
        [node, suite, "server", "--url", conformance_url, "--suite", "all",
         "--spec-version", version, "--output-dir", tmp_path / "results"],
        capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    summary = done.stdout.partition("=== SUMMARY ===")[2]

    passed = set(re.findall(r"^✓ ([\w-]+):", summary, re.MULTILINE))
    failed = set(re.findall(r"^✗ ([\w-]+):", summary, re.MULTILINE))

    assert failed == listed(version), done.stdout[-3000:]
    assert {"tools-list", "tools-call-with-progress", "dns-rebinding-protection"} <= passed
    assert len(passed) > 15


def listed(version):
    """The scenarios that the page says do not apply."""
    rows = re.findall(
        r"^\| `([\w-]+)` \| ([^|]*) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
    return {name for name, versions in rows if version in versions}
