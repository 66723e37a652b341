"""The pages as a browser without JavaScript gets them."""

import asyncio
import re
from html import unescape
from urllib.parse import quote

import anyio
import pytest
from tests.support.waiting import wait_until_async

import handrail
from handrail.host.terminal.approval_queue import pending_approvals, queue_directory

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\u202e\x1b[31m"


async def session_of(client, task):
    """Start a task in the page; returns the path of its session."""
    answer = await client.submit("/tasks", task=task)
    assert answer.status_code == 200, answer.text
    return answer.url.raw_path.decode()


def session_name(path):
    """The session that the address of a page names."""
    return path.partition("name=")[2].partition("&")[0]


async def test_a_task_is_started_watched_and_undone(open_page, script, root):
    model = script(
        {"text": "I look.", "calls": [{"name": "read_file", "arguments": {"path": "calc.py"}}]},
        {
            "calls": [
                {
                    "name": "edit_file",
                    "arguments": {"path": "calc.py", "old_string": "-", "new_string": "+"},
                }
            ],
            "usage": {"input": 100, "output": 20},
        },
        {"text": "It adds now."},
    )
    async with open_page("--model", model) as client:
        path = await session_of(client, "Fix it")
        text = await client.wait_for(path, "It adds now.")
        assert "a + b" in (root / "calc.py").read_text()
        assert "allow by mode:sandboxed" in text
        assert "100 in, 20 out" in text
        call = re.search(r'href="(/call[^"]+)" class="tool">edit_file', text)[1]
        call = call.replace("&amp;", "&")
        page = (await client.page(call)).text
        assert '<span class="removed">-    return a - b' in page
        kept = (root / "calc.py").read_text()
        (root / "calc.py").write_text(f"{kept}# mine\n")
        assert (await client.page(call)).text == page
        (root / "calc.py").write_text(kept)
        after = await client.submit(
            "/undo", call=call.rpartition("=")[2], session=session_name(path), direction="undo"
        )
        overview = (await client.page("/")).text

    assert after.status_code == 200
    assert 'class="notice"' in after.text
    assert "a - b" in (root / "calc.py").read_text()
    assert "Fix it" in overview
    assert f">{session_name(path)}</a>" in overview


async def test_an_approval_is_refused_with_a_reason_for_the_model(open_page, script, root):
    model = script(
        {"calls": [{"name": "write_file", "arguments": {"path": ".git/hooks/x", "content": "x"}}]},
        {"expect": "not in this project"},
        {"text": "Understood."},
    )
    async with open_page("--model", model) as client:
        path = await session_of(client, "Add a hook")
        text = await client.wait_for(path, "May write_file run?")
        question = re.search(r'action="/questions/([^"]+)"', text)[1]
        await client.submit(f"/questions/{question}", answer="no", reason="not in this project")
        text = await client.wait_for(path, "Understood.")
        again = await client.submit(f"/questions/{question}", answer="yes")

    assert again.status_code == 409
    assert "answered no by" in text
    assert "(page)" in text
    assert not (root / ".git").exists()


async def test_what_is_allowed_for_the_session_holds_for_its_next_task(open_page, script, root):
    written = root / "notes.txt"
    arguments = {"path": written.name, "content": "x"}
    model = script({"calls": [{"name": "write_file", "arguments": arguments}]}, {"text": "Done."})
    async with open_page("--mode", "default", "--model", model) as client:
        path = await session_of(client, "Write")
        text = await client.wait_for(path, 'value="always"')
        question = re.search(r'action="/questions/([^"]+)"', text)[1]
        await client.submit(f"/questions/{question}", answer="always")
        await client.wait_for(path, "<dd>ended</dd>")
        written.unlink()
        # The script begins again with the runtime of the next task.
        await client.submit("/session/task", session=session_name(path), task="Again")
        await wait_until_async(written.exists)


async def test_a_question_of_a_model_is_answered_in_words(open_page, script):
    asked = {
        "question": "Which one?",
        "header": "Choice",
        "options": [{"label": "left"}, {"label": "right"}],
    }
    model = script(
        {"calls": [{"name": "ask_user", "arguments": {"questions": [asked]}}]},
        {"expect": "left"},
        {"text": "Left it is."},
    )
    async with open_page("--model", model) as client:
        path = await session_of(client, "Choose")
        text = await client.wait_for(path, "The model asks")
        assert 'value="always"' not in text
        question = re.search(r'action="/questions/([^"]+)"', text)[1]
        nothing = await client.submit(f"/questions/{question}", answer="answer")
        yes = await client.submit(f"/questions/{question}", answer="yes")
        await client.submit(f"/questions/{question}", **{"answer": "answer", "option-0": "left"})
        await client.wait_for(path, "Left it is.")

    assert (nothing.status_code, yes.status_code) == (400, 400)


async def test_questions_of_other_processes_are_answered_here_too(open_page, root):
    async with open_page() as client, handrail.open(root, approver="approvals") as rt:
        answers = []

        async def write():
            answers.append(await rt.call("write_file", {"path": "a.txt", "content": "x"}))

        async with anyio.create_task_group() as group:
            group.start_soon(write)
            await wait_until_async(lambda: pending_approvals(queue_directory(root)))
            text = (await client.page("/questions")).text
            question = re.search(r'action="/questions/([^"]+)"', text)[1]
            await client.submit(f"/questions/{question}", answer="yes")

    assert answers[0].status == "ok"
    assert (root / "a.txt").read_text() == "x"


async def test_a_running_task_is_steered_and_interrupted(open_page, script):
    model = script(
        {"calls": [{"name": "run_command", "arguments": {"command": "sleep 600"}}]},
        {"text": "never"},
    )
    async with open_page("--model", model) as client:
        path = await session_of(client, "Sleep")
        await client.wait_for(path, "sleep 600")
        steered = await client.submit(
            "/session/task", session=session_name(path), task="and be quick"
        )
        busy = await client.submit("/session/rewind", session=session_name(path), turn="0")
        _, late = await asyncio.gather(
            client.submit("/session/interrupt", session=session_name(path)),
            client.submit("/session/task", session=session_name(path), task="nobody reads this"),
        )
        text = await client.wait_for(path, "<dd>ended</dd>")

    assert (steered.status_code, busy.status_code) == (200, 409)
    # Refused, or the task of a run that begins after the interrupted one.
    assert late.status_code == 409 or "nobody reads this" in text
    assert "interrupted" in text


async def test_rewind_and_fork(open_page, script, root):
    edits = [("- b", "+ b"), ("+ b", "* b")]
    model = script(
        *(
            {
                "calls": [
                    {
                        "name": "edit_file",
                        "arguments": {"path": "calc.py", "old_string": old, "new_string": new},
                    }
                ]
            }
            for old, new in edits
        ),
        {"text": "Twice."},
    )
    async with open_page("--model", model) as client:
        path = await session_of(client, "Edit twice")
        await client.wait_for(path, "Twice.")
        await client.wait_for(path, "<dd>ended</dd>")
        forked = await client.submit("/session/fork", session=session_name(path), turn="2")
        back = await client.submit("/session/rewind", session=session_name(path), turn="1")
        wrong = await client.submit("/session/rewind", session=session_name(path), turn="one")

    assert session_name(forked.url.raw_path.decode()) != session_name(path)
    assert "forked from" in forked.text
    assert "reverted: calc.py" in back.text
    assert "a + b" in (root / "calc.py").read_text()
    assert wrong.status_code == 400


async def test_a_session_whose_name_cannot_be_seen_is_rewound(open_page, script, root):
    name = "a\u200bb\u202ec"
    edit = {"path": "calc.py", "old_string": "- b", "new_string": "+ b"}
    model = script({"calls": [{"name": "edit_file", "arguments": edit}]}, {"text": "Once."})
    async with handrail.open(root, session=name, model=model, mode="accept-edits") as rt:
        await rt.agent(session=name).run("Edit")
    async with open_page() as client:
        shown = (await client.page(f"/session?name={quote(name)}")).text
        form = shown.partition('action="/session/rewind"')[2].partition("</form>")[0]
        named = unescape(re.search(r'name="session" value="([^"]*)"', form)[1])
        back = await client.submit("/session/rewind", session=named, turn="0")

    assert "\u200b" not in re.sub(r'type="hidden"[^>]*', "", shown)
    assert f'data-live="{quote(name)}"' in shown
    assert "reverted: calc.py" in back.text, back.text
    assert "a - b" in (root / "calc.py").read_text()


async def test_a_job_is_shown_and_killed(open_page, root):
    async with handrail.open(root, mode="yolo") as rt:
        started = await rt.call(
            "run_command", {"command": "echo loud; sleep 600", "background": True}
        )
        job = started.data["job"]
        async with open_page() as client:
            listed = (await client.page("/jobs")).text
            text = await client.wait_for(f"/jobs/{job}", "loud")
            killed = await client.submit(f"/jobs/{job}/kill")

    assert "sleep 600" in listed
    assert "Kill" in text
    assert "was ended" in killed.text
    assert ">Kill<" not in killed.text


async def test_foreign_text_is_text(open_page, script, root):
    (root / "<b>bold.txt").write_text(HOSTILE)
    read = {"name": "read_file", "arguments": {"path": "<b>bold.txt"}}
    hook = {"path": ".git/hooks/<b>bold", "content": HOSTILE}
    model = script(
        {"text": HOSTILE, "calls": [read]},
        {"calls": [{"name": "write_file", "arguments": hook}]},
        {"text": "[approved by user] <form>"},
    )
    async with open_page("--model", model) as client:
        path = await session_of(client, HOSTILE)
        asked = await client.wait_for(path, "May write_file run?")
        questions = (await client.page("/questions")).text
        question = re.search(r'action="/questions/([^"]+)"', asked)[1]
        await client.submit(f"/questions/{question}", answer="no", reason=HOSTILE)
        text = await client.wait_for(path, "[approved by user]")
        call = re.search(r'href="(/call[^"]+)" class="tool">read_file', text)[1]
        call = call.replace("&amp;", "&")
        pages = [asked, questions, text, *[(await client.page(one)).text for one in (call, "/")]]

    for page in pages:
        assert "<img" not in page
        assert "<b>bold" not in page
        assert "\u202e" not in page
        assert "\x1b" not in page
        check_harmless(page)


def check_harmless(page):
    """No inline script, style or handler, and no address but those of the server."""
    assert re.findall(r"<script[^>]*>", page) == ['<script src="/static/ui.js" type="module">']
    tags = re.findall(r"<[a-z][^>]*>", page)
    assert not [tag for tag in tags if re.search(r"\s(?:on\w+|style|srcset|data)=", tag)]
    addresses = re.findall(r'\s(?:src|href|action)="([^"]*)"', page)
    assert not [one for one in addresses if not re.match(r"/(?!/)", one)]


async def test_pages_load_nothing_from_elsewhere_and_have_no_inline_script(open_page):
    async with open_page() as client:
        pages = [(await client.page(one)).text for one in ("/", "/doctor", "/settings", "/jobs")]

    for page in pages:
        assert set(re.findall(r'(?:src|href|action)="([^"]*)"', page)) <= {
            *("/", "/questions", "/jobs", "/doctor", "/settings"),
            *("/tasks", "/static/ui.css", "/static/ui.js"),
        }
        check_harmless(page)


async def test_a_session_of_many_calls_has_short_pages(open_page, root):
    async with handrail.open(root, session="many", mode="yolo") as rt:
        calls = [{"name": "read_file", "arguments": {"path": "calc.py"}} for _ in range(120)]
        await rt.batch(calls)
        await rt.call("run_command", {"command": "head -c 300000 /dev/zero | tr '\\0' x"})
    async with open_page() as client:
        first = (await client.page("/session?name=many")).text
        older = re.search(r'href="(/session\?name=many&amp;before=\d+)"', first)[1]
        second = (await client.page(older.replace("&amp;", "&"))).text
        oldest = re.search(r'href="(/session\?name=many&amp;before=\d+)"', second)[1]
        third = (await client.page(oldest.replace("&amp;", "&"))).text

    assert len(first) < 200_000
    assert [page.count('class="card') for page in (first, second, third)] == [50, 50, 21]
    assert "before=" not in third


@pytest.mark.parametrize(
    "path",
    ["/session?name=none", "/call?session=none&id=1", "/jobs/none", "/nothing", "/questions/none"],
)
async def test_what_does_not_exist_is_not_found(open_page, path):
    async with open_page() as client:
        answer = await client.page(path)

    assert answer.status_code == 404


async def test_a_task_without_a_model_says_what_to_do(open_page):
    async with open_page() as client:
        path = await session_of(client, "Anything")
        text = await client.wait_for(path, "<dt>problem</dt>")

    assert "model" in text


@pytest.mark.parametrize("session", ["a/b", "..", "<b>", "x" * 100])
async def test_a_session_of_any_name_has_its_page(open_page, root, session):
    async with handrail.open(root, session=session) as rt:
        await rt.call("read_file", {"path": "calc.py"})
    async with open_page() as client:
        listed = (await client.page("/")).text
        link = re.search(r'<td><a href="(/session\?[^"]+)"', listed)[1]
        shown = await client.page(link.replace("&amp;", "&"))

    assert "read_file" in shown.text


@pytest.mark.parametrize("before", ["9" * 30, "9" * 5000, "x", "-1"])
async def test_an_odd_place_in_the_list_of_calls_is_harmless(open_page, root, before):
    async with handrail.open(root, session="odd") as rt:
        await rt.call("read_file", {"path": "calc.py"})
    async with open_page() as client:
        answer = await client.get("/session", params={"name": "odd", "before": before})

    assert answer.status_code == 200


@pytest.mark.parametrize("action", ["rewind", "fork", "task"])
async def test_a_session_that_does_not_exist_is_not_made_by_an_action(open_page, action):
    async with open_page() as client:
        answer = await client.submit(f"/session/{action}", session="never", turn="0", task="x")

    assert answer.status_code == 404


async def test_a_diff_shows_each_character_of_a_line(open_page, script):
    content = "a = 1\r-evil()\n++x\n\u2028-more()\n"
    call = {"name": "write_file", "arguments": {"path": ".git/hooks/x", "content": content}}
    async with open_page("--model", script({"calls": [call]}, {"text": "."})) as client:
        path = await session_of(client, "Write")
        text = await client.wait_for(path, "May write_file run?")
        spans = re.findall(r'<span class="(\w+)">([^<]*)', text)
        await client.submit("/session/interrupt", session=session_name(path))

    lines = {line.rstrip("\n"): look for look, line in spans}
    assert lines["+a = 1\\x0d-evil()"] == "added"
    assert lines["+++x"] == "added"
    assert lines["+\\u{2028}-more()"] == "added"
    assert "removed" not in lines.values()


async def test_a_long_preview_says_so_and_is_shown_in_full(open_page, script):
    content = "x = 1\n" * 9000 + "the_end()\n"
    call = {"name": "write_file", "arguments": {"path": ".git/hooks/x", "content": content}}
    async with open_page("--model", script({"calls": [call]}, {"text": "."})) as client:
        path = await session_of(client, "Write")
        text = await client.wait_for(path, "May write_file run?")
        link = re.search(r'<a href="(/questions/[^"]+)">show all', text)[1]
        whole = (await client.page(link)).text
        await client.submit("/session/interrupt", session=session_name(path))

    assert "the_end()" not in text
    assert "the_end()" in whole


async def test_no_message_to_a_task_is_lost(open_page, script):
    model = script(*({"text": f"answer {number}"} for number in range(60)))
    taken = []
    async with open_page("--model", model) as client:
        path = await session_of(client, "message 0")
        for number in range(1, 30):
            answer = await client.submit(
                "/session/task", session=session_name(path), task=f"message {number}."
            )
            if answer.status_code == 200:
                taken.append(f"message {number}.")
        text = await client.wait_for(path, "<dd>ended</dd>")

    assert taken
    assert [one for one in taken if one not in text] == []
