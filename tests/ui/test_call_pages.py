"""The page of one call: its parts, its diffs and undo."""

import re

import pytest

import handrail


@pytest.mark.parametrize("call_id", ["same", "one:same"])
async def test_the_call_of_the_page_is_undone_whatever_the_ids_of_other_sessions(
    open_page, root, call_id
):
    for session in ("one", "two"):
        async with handrail.open(root, session=session, mode="yolo") as rt:
            await rt.call("write_file", {"path": f"{session}.txt", "content": "x"}, id=call_id)
    async with open_page() as client:
        page = (await client.page(f"/call?session=one&id={call_id}")).text
        fields = dict(re.findall(r'name="(session|call)" value="([^"]+)"', page))
        after = await client.submit("/undo", **fields, direction="undo")

    assert after.status_code == 200
    assert ((root / "one.txt").exists(), (root / "two.txt").exists()) == (False, True)


async def test_a_long_output_is_shown_in_parts_and_in_full(open_page, root):
    async with handrail.open(root, session="long", mode="yolo") as rt:
        made = await rt.call("run_command", {"command": "seq 1 12000"})
    lines, path = [], f"/call?session=long&id={made.call_id}"
    async with open_page() as client:
        while path:
            text = (await client.page(path)).text
            lines.append(re.search(r"<h2>Output</h2><pre>(.*?)</pre>", text, re.DOTALL)[1])
            more = re.search(r'<a href="([^"]+)">next part</a>', text)
            path = more[1].replace("&amp;", "&") if more else None

    assert len(lines) > 2
    assert "\n".join(map(str, range(1, 12001))) in "".join(lines)


@pytest.mark.needs_bubblewrap
async def test_the_page_of_a_call_is_short_whatever_it_was_given_and_changed(open_page, root):
    text = "<x>\u202e\n" * 20_000
    async with handrail.open(root, session="large", mode="yolo") as rt:
        wrote = await rt.call("write_file", {"path": "large.txt", "content": text})
        many = await rt.call(
            "run_command", {"command": "for n in $(seq 150); do seq 2000 > file$n; done"}
        )
    async with open_page() as client:
        first = (await client.page(f"/call?session=large&id={wrote.call_id}")).text
        link = re.search(r'<a href="([^"]+)">next part</a>', first)[1]
        second = (await client.page(link.replace("&amp;", "&"))).text
        files = (await client.page(f"/call?session=large&id={many.call_id}")).text

    assert many.meta["undo"] != "none"
    assert "characters 20,001 to 40,000 of" in second
    assert "100 more files" in files
    assert f"handrail show {many.call_id}" in files
    assert max(map(len, (first, second, files))) < 400_000


@pytest.mark.needs_bubblewrap
async def test_files_that_a_loop_names_are_on_the_page_and_undone(open_page, root):
    command = "for n in $(seq 3); do echo > made$n; done"
    async with handrail.open(root, session="loop", mode="yolo") as rt:
        made = await rt.call("run_command", {"command": command})
    async with open_page() as client:
        page = (await client.page(f"/call?session=loop&id={made.call_id}")).text
        assert page.count("(create)") >= 3
        await client.submit("/undo", call=made.call_id, session="loop", direction="undo")

    assert [one.name for one in root.iterdir()] == ["calc.py"]
