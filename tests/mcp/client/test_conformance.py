"""The public conformance suite against the client."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.machine import load_node_tools

pytestmark = [pytest.mark.needs_mcp_programs, pytest.mark.torture]
CLIENT = Path(__file__).with_name("conformance_client.py")


@pytest.mark.parametrize(
    ("scenario", "version"),
    [
        ("initialize", "2025-06-18"),
        ("initialize", "2025-11-25"),
        ("tools_call", "2025-06-18"),
        ("tools_call", "2025-11-25"),
        ("tools_call", "2026-07-28"),
        ("elicitation-sep1034-client-defaults", "2025-11-25"),
        ("sse-retry", "2025-11-25"),
        ("request-metadata", "2026-07-28"),
        ("sep-2322-client-request-state", "2026-07-28"),
        ("http-standard-headers", "2026-07-28"),
        ("http-custom-headers", "2026-07-28"),
        ("http-invalid-tool-headers", "2026-07-28"),
        ("json-schema-2020-12-preservation", "2025-11-25"),
        ("json-schema-2020-12-preservation", "2026-07-28"),
        ("json-schema-ref-no-deref", "2026-07-28"),
        ("auth/metadata-default", "2025-11-25"),
        ("auth/metadata-default", "2026-07-28"),
        ("auth/metadata-var1", "2026-07-28"),
        ("auth/metadata-var2", "2026-07-28"),
        ("auth/metadata-var3", "2025-11-25"),
        ("auth/metadata-var3", "2026-07-28"),
        ("auth/scope-from-www-authenticate", "2025-11-25"),
        ("auth/scope-from-www-authenticate", "2026-07-28"),
        ("auth/scope-from-scopes-supported", "2026-07-28"),
        ("auth/scope-omitted-when-undefined", "2026-07-28"),
        ("auth/scope-step-up", "2025-11-25"),
        ("auth/scope-step-up", "2026-07-28"),
        ("auth/scope-retry-limit", "2026-07-28"),
        ("auth/token-endpoint-auth-basic", "2025-11-25"),
        ("auth/token-endpoint-auth-basic", "2026-07-28"),
        ("auth/token-endpoint-auth-post", "2026-07-28"),
        ("auth/token-endpoint-auth-none", "2026-07-28"),
        ("auth/2025-03-26-oauth-metadata-backcompat", "2025-03-26"),
        ("auth/2025-03-26-oauth-endpoint-fallback", "2025-03-26"),
        ("auth/resource-mismatch", "2026-07-28"),
        ("auth/offline-access-scope", "2026-07-28"),
        ("auth/offline-access-not-supported", "2026-07-28"),
        ("auth/authorization-server-migration", "2026-07-28"),
        ("auth/iss-supported", "2026-07-28"),
        ("auth/iss-not-advertised", "2026-07-28"),
        ("auth/iss-supported-missing", "2026-07-28"),
        ("auth/iss-wrong-issuer", "2026-07-28"),
        ("auth/iss-unexpected", "2026-07-28"),
        ("auth/iss-normalized", "2026-07-28"),
        ("auth/metadata-issuer-mismatch", "2026-07-28"),
    ],
)
def test_the_client_passes_a_scenario(tmp_path: Path, scenario: str, version: str) -> None:
    tools = load_node_tools()
    suite = tools.PLACE / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    command = f"{sys.executable} {CLIENT}"
    options = ["--scenario", scenario, "--spec-version", version, "-o", str(tmp_path)]
    options += ["--timeout", "80000"]
    done = subprocess.run(
        [tools.node(), suite, "client", "--command", command, *options],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
