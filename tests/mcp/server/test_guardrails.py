"""What is closed is closed to an MCP client as well: the same runtime answers."""

import pytest

RAILS = {"guardrails": {"sensitive_files": [".env"], "protected_files": ["*.lock"]}}
CALLS = [
    ("read_file", {"path": ".env"}),
    ("read_file", {"path": "link"}),
    ("grep", {"pattern": "hunter", "output_mode": "content"}),
    ("run_command", {"command": "cat .env"}),
    ("run_command", {"command": "cat .e*; cat link"}),
    ("write_file", {"path": "deps.lock", "content": "two"}),
    ("edit_file", {"path": "./deps.lock", "old_string": "one", "new_string": "two"}),
    ("run_command", {"command": "echo two > deps.lock"}),
    ("run_command", {"command": 'python3 -c \'open("deps.lock","w").write("two")\''}),
]


@pytest.mark.parametrize(("tool", "arguments"), CALLS)
async def test_a_client_does_not_reach_what_is_closed(connect, root, tool, arguments):
    (root / ".env").write_text("hunter2\n")
    (root / "deps.lock").write_text("one\n")
    (root / "link").symlink_to(".env")
    async with connect(config=RAILS) as client:
        result = await client.call_tool(tool, arguments)

    assert result.is_error or tool == "grep"
    assert "hunter2" not in str(result)
    assert (root / "deps.lock").read_text() == "one\n"
