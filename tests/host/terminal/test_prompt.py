"""The person at a real terminal: what they see, and what counts as their answer."""

import asyncio
import fcntl
import os
import pty
import re
import struct
import termios

import anyio
import pytest

from handrail.core.approval import Answer, ApprovalRequest
from handrail.core.ports.questions import ModelQuestion, QuestionOption, QuestionRequest
from handrail.core.verdicts import Risk
from handrail.host import messages
from handrail.host.terminal.prompt import TerminalApprover

PROMPT = re.compile(rb"Allow this once\? \[[a-z/]+\] $")
PAGER = re.compile(rb"Enter: more .*Ctrl-C: stop $")
EVIL = "\x1b[2J\x1b]52;c;eA==\x07\u202egnp.\u200b\r\x9b\u2066ok\U000e0041"


def request(**changes):
    given = {
        "call_id": "1",
        "tool": "write_file",
        "action": "write_file(a)",
        "reason": "because",
        "risk": Risk.MODERATE,
        "preview": "",
        "binding": "b" * 64,
    }
    return ApprovalRequest(**{**given, **changes})


class Person:
    """Sits at one end of a terminal; the approver asks at the other."""

    def __init__(self, width=80, height=24):
        self.keyboard, self._end = pty.openpty()
        self.device = os.ttyname(self._end)
        fcntl.ioctl(self._end, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        os.set_blocking(self.keyboard, False)
        self.screen = b""

    def type(self, text):
        os.write(self.keyboard, text.encode())

    async def sees(self, pattern):
        """Until the screen ends with this."""
        with anyio.fail_after(10):
            while not pattern.search(self.screen):
                await anyio.wait_readable(self.keyboard)
                self.screen += os.read(self.keyboard, 65536)

    async def reads(self, pattern=PROMPT):
        """What appeared since the last look, up to the question."""
        self.screen = b""
        await self.sees(pattern)
        return self.screen.decode()

    def settings(self):
        return termios.tcgetattr(self._end)

    def leave(self):
        os.close(self.keyboard)
        os.close(self._end)


@pytest.fixture
def person():
    made = []

    def sit(**size):
        made.append(Person(**size))
        return made[-1]

    yield sit
    for one in made:
        one.leave()


async def answered(task):
    with anyio.fail_after(10):
        return (await task).answer


@pytest.mark.feature("G02")
@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("y\n", Answer.YES),
        ("YES\n", Answer.YES),
        ("n\n", Answer.NO),
        ("no\n", Answer.NO),
        ("abort\n", Answer.ABORT),
        ("always\n", Answer.ALWAYS),
        ("\x03", Answer.ABORT),
        ("ye\x03", Answer.ABORT),
        ("\x04", Answer.NO),
    ],
)
async def test_each_answer_means_what_it_says(person, typed, answer):
    alice = person()
    asking = asyncio.create_task(TerminalApprover(alice.device).ask(request(always="x(y)")))
    await alice.reads()

    alice.type(typed)

    assert await answered(asking) is answer


@pytest.mark.parametrize(
    "typed", ["\n", " \n", "yy\n", "q\n", "y n\n", "y\x04", "1\n", "ys\n", "a\n"]
)
async def test_there_is_no_default_and_no_guess(person, typed):
    alice = person()
    asking = asyncio.create_task(TerminalApprover(alice.device).ask(request()))
    await alice.reads()

    alice.type(typed)
    again = await alice.reads()
    alice.type("n\n")

    assert "Allow this once?" in again
    assert await answered(asking) is Answer.NO


async def test_a_question_about_a_single_call_names_no_word_that_it_does_not_offer(person):
    alice = person()
    approver = TerminalApprover(alice.device, single_call=True)
    asking = asyncio.create_task(approver.ask(request()))
    await alice.reads()

    alice.type("a\n")
    again = await alice.reads()
    alice.type("no\n")

    assert "not an answer" in again
    assert "always" not in again
    assert "abort" not in again
    assert await answered(asking) is Answer.NO


@pytest.mark.parametrize(
    ("ends", "wording"), [(True, messages.ALWAYS_ENDS), (False, messages.NO_ALWAYS)]
)
async def test_always_is_not_offered_for_the_reason_that_holds(person, ends, wording):
    alice = person()
    approver = TerminalApprover(alice.device, single_call=True, session_ends=ends)
    asking = asyncio.create_task(approver.ask(request()))
    await alice.reads()

    alice.type("always\n")
    again = await alice.reads()
    alice.type("no\n")

    assert wording in " ".join(again.split())
    assert await answered(asking) is Answer.NO


@pytest.mark.finding("F37")
async def test_a_alone_is_neither_always_nor_abort(person):
    alice = person()
    asking = asyncio.create_task(TerminalApprover(alice.device).ask(request(always="x(y)")))
    await alice.reads()

    alice.type("a\n")
    again = await alice.reads()
    alice.type("no\n")

    assert "always or abort" in again
    assert await answered(asking) is Answer.NO


@pytest.mark.finding("F37")
@pytest.mark.parametrize("typed", ["n use  Make instead\n", "NO use  Make instead \n"])
async def test_a_no_can_have_a_reason(person, typed):
    alice = person()
    asking = asyncio.create_task(TerminalApprover(alice.device).ask(request()))
    await alice.reads()

    alice.type(typed)

    with anyio.fail_after(10):
        reply = await asking
    assert (reply.answer, reply.reason) == (Answer.NO, "use  Make instead")


@pytest.mark.finding("F37")
async def test_a_narrow_screen_breaks_no_words(person):
    alice = person(width=48)
    words = request(always="run_command(make test:*)", model_says="run the whole suite " * 6)
    asking = asyncio.create_task(TerminalApprover(alice.device).ask(words))

    shown = await alice.reads()
    alice.type("no\n")

    assert await answered(asking) is Answer.NO
    known = {*["run", "the", "whole", "suite"], "│"}
    rows = [row for row in shown.splitlines() if "whole" in row]
    assert len(rows) > 1
    assert all(word in known for row in rows for word in row.split())
    assert all(len(row) <= 48 for row in shown.splitlines())


async def test_folded_rules_and_diffs_keep_their_margin_and_add_no_lines(person):
    alice = person(width=48)
    rule = f"run_command(curl -s https://example.org/{'long/' * 8}x.txt)"
    diff = f"--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-{'value ' * 9}+ 1\n+x"
    asking = asyncio.create_task(
        TerminalApprover(alice.device).ask(request(always=rule, preview=diff))
    )

    shown = (await alice.reads()).splitlines()
    alice.type("no\n")

    assert await answered(asking) is Answer.NO
    assert [row for row in shown if row.startswith("│ +")] == ["│ +++ b/a.py", "│ +x"]
    assert "".join(row[2:] for row in shown if "curl" in row or "long/" in row) == rule
    assert all(row.startswith("│ ") for row in shown if "x.txt" in row or "+ 1" in row)


@pytest.mark.parametrize("typed", ["y\n", "y", "y\ny\ny\n"])
async def test_what_was_typed_before_the_question_is_no_answer(person, typed):
    alice = person()
    alice.type(typed)
    asking = asyncio.create_task(TerminalApprover(alice.device).ask(request()))
    await alice.reads()

    alice.type("n\n")

    assert await answered(asking) is Answer.NO


async def test_what_is_typed_before_anybody_can_have_read_the_question_is_no_answer(
    person, monkeypatch
):
    monkeypatch.setattr("handrail.host.terminal.prompt._UNREAD_S", 2.0)
    alice = person()
    asking = asyncio.create_task(TerminalApprover(alice.device).ask(request()))
    await alice.reads(re.compile(rb"yes: allow it once"))
    alice.type("y\n")
    await alice.reads()

    alice.type("n\n")

    assert await answered(asking) is Answer.NO


async def test_several_lines_at_once_are_no_answer(person):
    alice = person()
    asking = asyncio.create_task(TerminalApprover(alice.device).ask(request()))
    await alice.reads()

    alice.type("y\ny\nrm -rf /\n")
    told = await alice.reads(
        re.compile(rb"several lines.*Allow this once\? \[yes/no/abort\] $", re.S)
    )
    alice.type("n\n")

    assert "several lines at once" in told
    assert await answered(asking) is Answer.NO


async def test_always_is_offered_only_with_a_rule_that_is_shown_first(person):
    alice = person()
    asking = asyncio.create_task(TerminalApprover(alice.device).ask(request()))
    without = await alice.reads()
    alice.type("always\n")
    told = await alice.reads()
    alice.type("n\n")
    first = await answered(asking)

    rule = "run_command(npm test:*)"
    asking = asyncio.create_task(TerminalApprover(alice.device).ask(request(always=rule)))
    offered = await alice.reads()
    alice.type("always\n")
    second = await answered(asking)
    await alice.sees(re.compile(rb"under \[permissions\]"))

    assert "always" not in without
    assert "rule to allow this always" in told
    assert first is Answer.NO
    assert f"│ {rule}" in offered
    assert second is Answer.ALWAYS
    assert "list allow under [permissions]" in alice.screen.decode()


async def test_nothing_in_a_question_can_move_the_cursor_or_hide(person):
    alice = person()
    hostile = request(
        tool=f"t{EVIL}", action=EVIL, reason=EVIL, preview=EVIL, model_says=EVIL, always=f"x({EVIL})",
        agent=EVIL,
    )  # fmt: skip
    asking = asyncio.create_task(TerminalApprover(alice.device).ask(hostile))
    shown = await alice.reads()
    alice.type("v\n")
    shown += await alice.reads()
    alice.type("always\n")
    await answered(asking)
    await alice.sees(re.compile(rb"under \[permissions\].*\n", re.S))
    shown += alice.screen.decode()

    plain = shown.replace("\r\n", "")
    assert not set(plain) & set(EVIL) - set("[2J]52;c;eA==gnp.ok")
    assert "\\x1b[2J" in shown
    assert "\\u{202e}" in shown


@pytest.mark.parametrize(
    "text",
    [
        "x\nAllow this once? [yes/no/abort/v] y\n── read_file wants to run (risk: safe) ──",
        " " * 78 + "Allow this once? [yes/no/abort/v] y",
        "\t" * 10 + "why you are asked:",
        "漢" * 39 + "Allow this once?",
        "e\u0301" * 78 + "Allow this once?",
        "\u25a0" * 78 + "Allow this once?",
    ],
)
async def test_no_text_can_pass_for_a_line_of_ours(person, text):
    alice = person(width=80, height=60)
    hostile = request(action=text, reason=text, preview=text, model_says=text)
    asking = asyncio.create_task(TerminalApprover(alice.device).ask(hostile))
    shown = await alice.reads()
    alice.type("n\n")
    await answered(asking)

    ours = [line for line in shown.split("\r\n") if not line.startswith("│ ")]
    assert ours == [
        "",
        "── write_file wants to run (risk: moderate) ──",
        "why you are asked:",
        "the model says (not verified):",
        "what would happen:",
        "yes: allow it once · no: refuse it · no TEXT: refuse it and say why",
        "abort or Ctrl-C: refuse it and stop",
        "Allow this once? [yes/no/abort] ",
    ]


async def test_a_long_preview_is_cut_with_its_count_and_can_be_seen_whole(person):
    alice = person(height=24)
    preview = "\n".join(f"+line {number}" for number in range(100))
    asking = asyncio.create_task(TerminalApprover(alice.device).ask(request(preview=preview)))
    first = await alice.reads()
    alice.type("v\n")
    pages = await alice.reads(PAGER)
    while "+line 99" not in pages:
        alice.type("\n")
        pages += await alice.reads(re.compile(rb"(Ctrl-C: stop |\] )$"))
    if not pages.endswith("] "):
        pages += await alice.reads()
    alice.type("y\n")

    left = int(re.search(r"\[(\d+) more rows of this: v shows all\]", first)[1])
    shown = first.count("+line")
    assert shown + left == 100
    assert first.count("\r\n") <= 24
    assert [f"+line {n}\r\n" in pages for n in range(100)] == [True] * 100
    assert await answered(asking) is Answer.YES


async def test_a_person_who_has_seen_enough_goes_back_to_the_question(person):
    alice = person()
    preview = "\n".join("x" * 10 for _ in range(1000))
    asking = asyncio.create_task(TerminalApprover(alice.device).ask(request(preview=preview)))
    await alice.reads()
    alice.type("v\n")
    await alice.reads(PAGER)
    alice.type("q\n")
    again = await alice.reads()
    alice.type("n\n")

    assert again.endswith("Allow this once? [yes/no/abort/v] ")
    assert await answered(asking) is Answer.NO


@pytest.mark.parametrize("typed", ["\x03", "abort\n"])
async def test_a_person_can_abort_while_they_look_at_all_of_it(person, typed):
    alice = person()
    preview = "\n".join("x" * 10 for _ in range(1000))
    asking = asyncio.create_task(TerminalApprover(alice.device).ask(request(preview=preview)))
    await alice.reads()
    alice.type("v\n")
    await alice.reads(PAGER)
    alice.type(typed)

    assert await answered(asking) is Answer.ABORT
    await alice.sees(re.compile(rb"\n$"))


async def test_showing_all_is_offered_only_where_something_is_missing(person):
    alice = person()
    asking = asyncio.create_task(TerminalApprover(alice.device).ask(request(preview="+one")))
    shown = await alice.reads()
    alice.type("n\n")
    await answered(asking)

    assert "show all of it" not in shown
    assert shown.endswith("Allow this once? [yes/no/abort] ")


async def test_the_terminal_is_left_as_it_was(person):
    alice = person()
    before = alice.settings()
    approver = TerminalApprover(alice.device)

    asking = asyncio.create_task(approver.ask(request()))
    await alice.reads()
    during = alice.settings()
    alice.type("\x03")
    await answered(asking)

    assert during != before
    assert alice.settings() == before


async def test_a_terminal_that_another_program_left_raw_is_read_by_lines_all_the_same(person):
    import tty

    alice = person()
    tty.setraw(alice._end)
    asking = asyncio.create_task(TerminalApprover(alice.device).ask(request()))
    await alice.reads(re.compile(rb"Allow this once\? \[yes/no/abort\] $"))

    alice.type("y\r")

    assert await answered(asking) is Answer.YES


async def test_a_question_that_nobody_waits_for_ends(person):
    alice = person()
    before = alice.settings()
    asking = asyncio.create_task(TerminalApprover(alice.device).ask(request()))
    await alice.reads()

    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking

    with anyio.fail_after(10):
        while alice.settings() != before:
            await anyio.sleep(0.01)


async def test_who_answered_and_how_is_known(person):
    alice = person()
    asking = asyncio.create_task(TerminalApprover(alice.device).ask(request()))
    await alice.reads()
    alice.type("n\n")
    with anyio.fail_after(10):
        reply = await asking

    assert reply.via == "terminal"
    assert reply.who


async def test_colour_marks_the_lines_of_a_diff_and_only_if_it_is_wanted(person):
    alice = person()
    diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n"
    screens = []
    for colour in (False, True):
        approver = TerminalApprover(alice.device, colour=colour)
        asking = asyncio.create_task(approver.ask(request(preview=diff)))
        screens.append(await alice.reads())
        alice.type("n\n")
        await answered(asking)

    assert "\x1b" not in screens[0]
    assert "│ \x1b[31m-old\x1b[0m" in screens[1]
    assert "│ \x1b[32m+new\x1b[0m" in screens[1]


ANSWER = re.compile(rb"your answer to the model: $")


def questions(*texts, multi_select=False):
    options = (QuestionOption("SQLite", "one file"), QuestionOption("Postgres"))
    asked = [ModelQuestion(text, "Database", options, multi_select) for text in texts]
    return QuestionRequest("1", tuple(asked), "child", ("main", "child"))


@pytest.mark.feature("E39")
async def test_questions_of_a_model_are_answered_by_number_or_in_words(person):
    user = person()
    request = questions("Which one?", "And why?", "Sure?")
    asking = asyncio.ensure_future(TerminalApprover(user.device).ask_questions(request))
    shown = await user.reads(ANSWER)
    user.type("2\n")
    await user.reads(ANSWER)
    user.type("because 1 is small\n")
    await user.reads(ANSWER)
    user.type("\n")

    reply = await asking

    assert reply.answers == {"Which one?": "Postgres", "And why?": "because 1 is small"}
    assert "agent main > child" in shown
    assert "wants to run" not in shown


async def test_several_options_are_chosen_by_their_numbers(person):
    user = person()
    request = questions("Which?", multi_select=True)
    asking = asyncio.ensure_future(TerminalApprover(user.device).ask_questions(request))
    await user.reads(ANSWER)
    user.type("1, 2\n")

    assert (await asking).answers == {"Which?": ["SQLite", "Postgres"]}


@pytest.mark.threat("A33")
async def test_ctrl_c_at_a_question_of_a_model_ends_the_run(person):
    user = person()
    asking = asyncio.ensure_future(TerminalApprover(user.device).ask_questions(questions("W?")))
    await user.reads(ANSWER)
    user.type("\x03")

    assert (await asking).aborted
