"""Answers of tools are complete: what is missing, what fits, how a file ends, how risky a call is."""

import pytest

import handrail

RISKS = {"ls": handrail.Risk.SAFE, "rm": handrail.Risk.DANGEROUS}


async def ask(root, name, arguments, **options):
    """The result of one call."""
    async with handrail.open(root, store=":memory:", **options) as rt:
        return await rt.call(name, arguments)


@pytest.mark.finding("F57")
@pytest.mark.parametrize("arguments", [{}, {"-C": 1}, {"-n": False}])
async def test_matching_lines_fill_the_limit_of_a_result(tmp_path, arguments):
    (tmp_path / "short.txt").write_text("".join(f"x{n}\ny\ny\ny\n" for n in range(20_000)))
    content = {"pattern": "x", "output_mode": "content", "head_limit": 0, **arguments}

    found = await ask(tmp_path, "Grep", content, dialect="claude")

    assert 19_000 < len(found.text) <= 20_000
    shown = sum(hit["matched"] for hit in found.data["hits"])
    assert found.data["next_offset"] == shown


@pytest.mark.finding("F60")
@pytest.mark.parametrize(
    ("content", "arguments", "noted"),
    [
        (b"a\n", {}, False),
        (b"a", {}, True),
        (b"a\r\nb", {"offset": 2}, True),
        (b"a\r\nb\r\n", {"offset": 2}, False),
        (b"a\nb", {"limit": 1}, False),
        (b"a", {"max_bytes": 10}, True),
        (b"ab", {"max_bytes": 1}, False),
        ("a".encode("utf-16"), {}, True),
        ("a\n".encode("utf-16"), {}, False),
        (b"", {}, False),
        (b"line\n" * 300_000 + b"end", {"offset": 300_001}, True),
        (b"line\n" * 300_000, {"offset": 300_000}, False),
    ],
)
async def test_a_last_line_without_newline_is_noted(tmp_path, content, arguments, noted):
    (tmp_path / "a.txt").write_bytes(content)

    read = await ask(tmp_path, "read_file", {"path": "a.txt", **arguments})

    assert read.ok
    assert ("has no newline" in read.text) is noted


@pytest.mark.finding("F63")
@pytest.mark.parametrize(
    ("dialect", "name", "arguments", "missing"),
    [
        ("canonical", "edit_file", {}, ["path", "old_string", "new_string"]),
        ("architect", "edit_file", {}, ["path", "old_str", "new_str"]),
        ("claude", "Edit", {"old_string": "x"}, ["file_path", "new_string"]),
        ("canonical", "edit_file", {"path": "a", "edits": []}, ["old_string", "new_string"]),
        ("canonical", "edit_file", {"edits": [{}]},
         ["path", "edits[0].old_string", "edits[0].new_string"]),
        ("claude", "Write", {}, ["file_path", "content"]),
    ],
)  # fmt: skip
async def test_all_missing_arguments_are_named_at_once(tmp_path, dialect, name, arguments, missing):
    refused = await ask(tmp_path, name, arguments, dialect=dialect)

    assert refused.problem.code == "invalid_arguments"
    assert [name for name in missing if f"'{name}' is required" in refused.text] == missing
    assert refused.text.count("is required") == len(missing)


@pytest.mark.finding("F63")
async def test_every_declared_schema_says_what_is_required(tmp_path):
    async with handrail.open(tmp_path, store=":memory:") as rt:
        groups = sorted({tool.group for tool in rt.registry.list_all()})
        declared = rt.declare("openai", groups=groups)

    schemas = {one["function"]["name"]: one["function"]["parameters"] for one in declared}
    assert [name for name, schema in schemas.items() if "required" not in schema] == []
    assert schemas["list_files"]["required"] == []
    assert schemas["edit_file"]["required"] == ["path", "old_string", "new_string"]


@pytest.mark.feature("A09")
@pytest.mark.finding("F63")
@pytest.mark.parametrize(("command", "asked"), [("ls", []), ("rm", ["dangerous"])])
async def test_the_risk_of_an_own_tool_may_depend_on_its_arguments(tmp_path, command, asked):
    @handrail.tool(risk=lambda args: RISKS[args.command], effects=handrail.Effects.PURE)
    def remote(command: str) -> str:
        return command

    questions = []

    def approve(request):
        questions.append(f"{request.risk}")
        return True

    async with handrail.open(tmp_path, store=":memory:", approver=approve) as rt:
        rt.register(remote)
        ran = await rt.call("remote", {"command": command})
        unrated = await rt.call("remote", {"command": "dd"})

    assert ran.unwrap().text == command
    assert questions == asked
    # A risk that cannot be told is no permission.
    assert unrated.problem.code == "internal"


@pytest.mark.finding("F63")
def test_a_risk_of_another_kind_is_refused_where_it_is_written():
    with pytest.raises(TypeError, match="risk"):
        handrail.tool(risk="high", name="own")(lambda: None)
