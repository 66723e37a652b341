"""`handrail ui` in a real browser, by clicking."""

import os
import signal
from pathlib import Path

import pytest
from tests.support.browser import open_browser
from tests.support.waiting import wait_until

import handrail.sync

pytestmark = pytest.mark.needs_browser

EDIT = {
    "name": "edit_file",
    "arguments": {"path": "calc.py", "old_string": "a - b", "new_string": "a + b"},
}
HOOK = {"name": "write_file", "arguments": {"path": ".git/hooks/x", "content": "x"}}
QUESTION = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [{"label": "red"}, {"label": "blue"}],
}


# What differs from run to run looks the same in every picture.
STEADY = """(() => {
  for (const one of document.querySelectorAll("time")) one.textContent = "2026-01-05 10:00:00";
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    text.data = text.data
      .replace(/\\b[0-9a-f]{12}\\b/g, "5d2f81c09a37")
      .replace(/^\\d+\\.\\d\\d s$/, "0.02 s")
      .replace(/ by \\S+ \\(page\\)/, " by you (page)");
  }
})()"""
PICTURE = (1000, 1000)


@pytest.fixture
def browser(tmp_path):
    with open_browser(tmp_path / "profile") as opened:
        yield opened


@pytest.fixture
def take_picture(browser):
    """Save the page as a picture for the documentation, if `make pictures` asks for it."""

    def take(name, first="h1"):
        folder = os.environ.get("HANDRAIL_PICTURES")
        if not folder:
            return
        browser.call("Emulation.setScrollbarsHidden", hidden=True)
        browser.resize(*PICTURE)
        browser.script(STEADY)
        browser.script(
            f"document.querySelector({first!r}).scrollIntoView(); window.scrollBy(0, -55)"
        )
        height = browser.script("document.querySelector('main').getBoundingClientRect().bottom")
        browser.save_screenshot(
            Path(folder) / f"{name}.png", PICTURE[0], min(round(height), PICTURE[1])
        )

    return take


def test_a_run_is_watched_answered_undone_and_rewound(
    start_page, script, root, browser, take_picture
):
    model = script(
        {
            "text": "First the code.",
            "calls": [{"name": "read_file", "arguments": {"path": "calc.py"}}],
            "usage": {"input": 2100, "output": 60},
        },
        {
            "text": "The sign is wrong.",
            "calls": [EDIT],
            "usage": {"input": 2400, "output": 90},
        },
        {"calls": [HOOK], "usage": {"input": 2700, "output": 80}},
        {"expect": "hooks are mine"},
        {"calls": [{"name": "ask_user", "arguments": {"questions": [QUESTION]}}]},
        {"expect": "blue"},
        {"text": "Blue <b>it</b> is."},
    )
    with start_page("--model", model) as (_, address):
        browser.open(address)
        browser.type_into("textarea", "Fix the sum")
        browser.click("Start")
        browser.wait_for_text("May write_file run?")
        # The page follows the run by itself.
        assert "The sign is wrong." in browser.text()
        assert "a + b" in (root / "calc.py").read_text()
        take_picture("session", "#turn-2")
        browser.type_into("input[name=reason]", "hooks are mine")
        browser.click("Refuse")
        browser.wait_for_text("Which colour?")
        take_picture("question", "#turn-4")
        browser.click("blue")
        browser.click("Answer")
        browser.wait_for_text("Blue <b>it</b> is.")
        browser.wait_for_text("done")
        browser.click("edit_file")
        browser.wait_for_text("Undo this call")
        assert browser.script("document.querySelectorAll('.diff .added').length") == 1
        take_picture("call")
        browser.click("Undo this call")
        browser.wait_for_text("turn 1")
        wait_until(lambda: "a - b" in (root / "calc.py").read_text())
        browser.click("rewind to here")
        browser.wait_for_text("reverted: no file")
        assert not (root / ".git").exists()
        assert not [
            one for one in browser.messages if one.get("method") == "Runtime.exceptionThrown"
        ]
        refused = [one for one in browser.messages if "Content Security Policy" in str(one)]
        assert refused == []


def test_a_call_is_approved(start_page, script, root, browser):
    hook = {"name": "write_file", "arguments": {"path": ".git/hooks/x", "content": "x\n" * 200}}
    model = script({"calls": [hook]}, {"text": "It is in place."})
    with start_page("--model", model) as (_, address):
        browser.open(address)
        browser.type_into("textarea", "Add a hook")
        browser.click("Start")
        browser.wait_for_text("May write_file run?")
        assert not (root / ".git").exists()
        # No part of what is approved is hidden in a box that scrolls.
        hidden = "[...document.querySelectorAll('.question pre')].map(one => one.scrollHeight - one.clientHeight)"
        assert max(browser.script(hidden)) <= 0
        browser.click("Allow once")
        browser.wait_for_text("It is in place.")
        browser.wait_for_text("answered yes by")

    assert (root / ".git/hooks/x").read_text() == "x\n" * 200


def test_a_question_that_has_just_appeared_takes_no_click(start_page, script, root, browser):
    """The second click of a double click must not approve the question that comes next."""
    other = {"name": "write_file", "arguments": {"path": ".git/hooks/y", "content": "y"}}
    model = script({"calls": [HOOK]}, {"calls": [other]}, {"text": "All done."})
    with start_page("--model", model) as (_, address):
        browser.open(address)
        browser.type_into("textarea", "Add two hooks")
        browser.click("Start")
        browser.wait_for_text("May write_file run?")
        # Clicks with the mouse on what appears, before anybody could have seen it.
        browser.script("""(() => {
          const seen = document.querySelector(".question").id;
          window.clicked = false;
          new MutationObserver(() => {
            const next = document.querySelector(".question");
            const allow = next && next.id !== seen && next.querySelector("button[value=yes]");
            if (!allow || window.clicked) return;
            window.clicked = true;
            const click = { bubbles: true, cancelable: true, detail: 1 };
            allow.dispatchEvent(new MouseEvent("click", click));
          }).observe(document.getElementById("content"), { childList: true, subtree: true });
        })()""")
        browser.click("Allow once")
        browser.wait_for("window.clicked")
        browser.click("Refuse")
        browser.wait_for_text("All done.")

    assert (root / ".git/hooks/x").exists()
    assert not (root / ".git/hooks/y").exists()


def test_a_job_is_watched_and_killed(start_page, root, browser, take_picture):
    command = "echo listening; while [ ! -e go ]; do sleep 0.1; done; echo went on; sleep 600"
    with (
        handrail.sync.open(root, session="server", mode="yolo") as rt,
        start_page() as (_, address),
    ):
        started = rt.call("run_command", {"command": command, "background": True})
        assert started.ok, started.text
        browser.open(address)
        browser.click("Jobs")
        browser.wait_for_text("running")
        # The list is loaded again and again; a click that lasts longer than that is not lost.
        browser.script(
            "const load = fetch; window.loads = 0;"
            "window.fetch = (...given) => load(...given).finally(() => { window.loads += 1; })"
        )
        browser.click(started.data["job"], hold_until="window.loads > 1")
        # The list of jobs shows the command, the page of the job its output.
        browser.wait_for("document.querySelector('main > pre')?.innerText.includes('listening')")
        assert "went on" not in browser.script("document.querySelector('main > pre').innerText")
        (root / "go").touch()
        browser.wait_for("document.querySelector('main > pre')?.innerText.includes('went on')")
        take_picture("job")
        browser.click("Kill")
        browser.wait_for_text("was ended")
        wait_until(lambda: [one.state.value for one in rt.jobs.list()] != ["running"])


def test_hostile_text_does_nothing_in_a_browser(start_page, script, root, browser):
    text = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    (root / "<svg onload=alert(1)>.txt").write_text(text)
    read = {"name": "read_file", "arguments": {"path": "<svg onload=alert(1)>.txt"}}
    model = script({"text": text, "calls": [read]}, {"text": "finished"})
    with start_page("--model", f"{model}?chunk=3") as (_, address):
        browser.open(address)
        browser.type_into("textarea", text)
        browser.click("Start")
        browser.wait_for_text("finished")
        elements = browser.script(
            "document.querySelectorAll('main img, main script, main svg[onload]').length"
        )

        assert elements == 0
        assert "owned" not in browser.script("document.title").split(" · ")[1:]
        assert browser.script("document.title").endswith("Handrail")


def test_a_frame_on_another_page_stays_empty(start_page, browser, tmp_path):
    with start_page() as (_, address):
        browser.open(address)
        browser.wait_for_text("Sessions")
        home = address.partition("/login")[0]
        outside = tmp_path / "outside.html"
        outside.write_text(f'<iframe src="{home}/static/ui.css"></iframe>')
        browser.open(f"file://{outside}")
        # Without the cookie, which is for the same site only; and refused to frames in any case.
        wait_until(
            lambda: (
                browser.script("1")
                and any("frame-ancestors" in one for one in _refusals(browser, home))
            )
        )


def _refusals(browser, home):
    return [
        one["params"]["entry"]["text"]
        for one in browser.messages
        if one.get("method") == "Log.entryAdded" and home in one["params"]["entry"]["text"]
    ]


def test_enter_in_the_field_of_a_reason_refuses(start_page, script, root, browser):
    model = script({"calls": [HOOK]}, {"expect": "never"}, {"text": "Left out."})
    with start_page("--model", model) as (_, address):
        browser.open(address)
        browser.type_into("textarea", "Add a hook")
        browser.click("Start")
        browser.wait_for_text("May write_file run?")
        browser.type_into("input[name=reason]", "never")
        browser.press_enter()
        browser.wait_for_text("Left out.")

    assert not (root / ".git").exists()


def test_the_server_ends_with_an_open_page(start_page, browser):
    with start_page() as (process, address):
        browser.open(address)
        browser.wait_for_text("Sessions")
        process.send_signal(signal.SIGINT)

        assert process.wait(30) == 0


def test_forms_work_without_javascript(start_page, script, browser):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    with start_page("--model", script({"text": "Hello."})) as (_, address):
        browser.open(address)
        browser.type_into("textarea", "Greet me")
        browser.click("Start")
        browser.wait_for("location.pathname === '/session'")

        def answered():
            browser.call("Page.reload")
            browser.wait_for("document.readyState === 'complete'")
            return "Hello." in browser.text()

        wait_until(answered)
