"""One question of another process on four surfaces: its terminal, `handrail approvals`, events and an
approver of the program's own. They answer at random moments, the process is killed now and then, and
goes on under the same rules or under others.
"""

import json
import os
import pty
import random
import select
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from handrail.core.approval import Answer
from handrail.core.problems import ProblemRaised
from handrail.host.terminal.approval_queue import (
    answer_pending,
    confirm_answer,
    pending_approvals,
    queue_directory,
)

LIMIT_S = 120
PROGRAM = """
import asyncio, fcntl, json, os, sys, termios
import handrail
from handrail.core.approval import Answer, Reply
from handrail.core.problems import ProblemRaised
from handrail.host.terminal.prompt import TerminalApprover

root, terminal, log, plan = sys.argv[1], int(sys.argv[2]), sys.argv[3], json.loads(sys.argv[4])
fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
notes = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

def note(**said):
    os.write(notes, json.dumps(said).encode() + b"\\n")

class Desk:
    via = "desk"

    async def ask(self, request):
        note(binding=request.binding)
        wait_s, answer = plan["desk"]
        try:
            await asyncio.sleep(wait_s)
        except asyncio.CancelledError:
            note(surface="desk", told="withdrawn")
            raise
        note(surface="desk", told=answer)
        return Reply(Answer(answer), "desk")

async def reply(rt, question):
    wait_s, answer = plan["events"]
    await asyncio.sleep(wait_s)
    try:
        await rt.reply(question, answer)
        note(surface="events", told=answer)
    except ProblemRaised as raised:
        note(surface="events", told=raised.problem.code)

async def main():
    rules = {"permissions": {"deny": ["write_file"]}} if plan["deny"] else {}
    surfaces = [TerminalApprover(), "approvals", "events", Desk()]
    replies = []
    async with handrail.open(
        root, mode="default", session="s", approver=surfaces, config=rules
    ) as rt:
        def seen(event):
            if event.type == "question":
                replies.append(asyncio.ensure_future(reply(rt, event.question_id)))
            if event.type == "question_answered":
                note(decision=event.answer, via=event.via)
                os.write(terminal, f"answered from {event.via}\\n".encode())
        rt.subscribe(seen)
        asked = {"path": "effects.txt", "content": "x", "mode": "append"}
        result = await rt.call("write_file", asked, id="c1")
        await asyncio.gather(*replies)
        note(ok=result.ok, code=None if result.ok else result.problem.code)

asyncio.run(main())
"""
TERMINAL_FIRST = 0.3
DELAYS_S = (0, 0, 0.05, 0.3, 0.6, 0.7, 0.9)


class AskingProcess:
    """One run of the program, and what was said to it and by it."""

    def __init__(self, work, number, plan):
        self.root, self.plan = work / "root", plan
        self.log = work / f"log{number}"
        self.queue_told = None
        self.killed = False
        self.screen = b""
        self._answered = None

    def run(self):
        keyboard, terminal = pty.openpty()
        words = [str(self.root), str(terminal), str(self.log), json.dumps(self.plan)]
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *words],
            pass_fds=[terminal],
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stderr=terminal,
        )
        os.close(terminal)
        try:
            self._attend(process, keyboard)
        finally:
            process.kill()
            process.wait(LIMIT_S)
            os.close(keyboard)
        if self._answered is not None and not self.killed:
            self._confirm()
        return self

    def _attend(self, process, keyboard):
        """Answer at the planned moments, and end the process if that is planned."""
        asked_at = prompted_at = None
        pending, typed = None, False
        end = time.monotonic() + LIMIT_S
        while process.poll() is None:
            now = time.monotonic()
            assert now < end, self.screen.decode()
            if select.select([keyboard], [], [], 0.01)[0]:
                try:
                    self.screen += os.read(keyboard, 65536)
                except OSError:
                    process.wait(LIMIT_S)
                    return
            if pending is None and (waiting := pending_approvals(queue_directory(self.root))):
                pending, asked_at = waiting[0], now
            if prompted_at is None and self.screen.endswith(b"/abort] "):
                prompted_at = now
            if pending and self.queue_told is None and now >= asked_at + self.plan["approvals"][0]:
                self._answer(pending)
            if prompted_at and not typed and now >= prompted_at + self.plan["terminal"][0]:
                typed = True
                os.write(keyboard, f"{self.plan['terminal'][1]}\n".encode())
            if self.plan["kill"] is not None and pending and now >= asked_at + self.plan["kill"]:
                process.kill()
                process.wait(LIMIT_S)
                self.killed = True
                return

    def _answer(self, pending):
        given = Answer(self.plan["approvals"][1])
        try:
            answer_pending(pending, given)
            self.queue_told, self._answered = given.value, pending
        except ProblemRaised as raised:
            self.queue_told = raised.problem.code

    def _confirm(self):
        try:
            confirm_answer(self._answered, Answer(self.queue_told))
        except ProblemRaised as raised:
            self.queue_told = raised.problem.code

    @property
    def notes(self):
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [json.loads(line) for line in lines]

    @property
    def told(self):
        """What the surfaces were told: their own answer if it was taken."""
        found = {one["surface"]: one["told"] for one in self.notes if "surface" in one}
        return found | ({"approvals": self.queue_told} if self.queue_told else {})

    def check(self, effects):
        """What is true of a run that was not killed, with or without a question."""
        [ended] = [one for one in self.notes if "ok" in one]
        decisions = [one for one in self.notes if "decision" in one]
        assert len({one["binding"] for one in self.notes if "binding" in one}) <= 1
        if not decisions:
            return
        [decision] = decisions
        answer, via = decision["decision"], decision["via"]
        assert ended["ok"] == bool(effects) == (answer == "yes"), (self.notes, effects)
        given = self.plan[via][1]
        assert answer == given, self.notes
        assert self.told.get(via, given) == given, (via, self.told)
        # A refusal that was taken is never passed over, and who lost was told.
        if answer == "yes":
            assert "no" not in self.told.values(), (decision, self.told)
        for surface, said in self.told.items():
            # The program's own surface learns it from the event.
            if surface == "desk":
                continue
            assert said in (answer, "conflict", "not_found", "withdrawn"), (surface, decision)
        if via != "terminal":
            assert f"answered from {via}".encode() in self.screen


def make_plan(draw, **fixed):
    chosen = {
        surface: (draw.choice(DELAYS_S), draw.choice(["yes", "no"]))
        for surface in ("events", "approvals", "desk", "terminal")
    }
    if draw.random() < TERMINAL_FIRST:
        # The terminal asks after a moment, so that nothing typed ahead is taken for an answer.
        for surface in ("events", "approvals", "desk"):
            chosen[surface] = (chosen[surface][0] + 1.5, chosen[surface][1])
    return {**chosen, "kill": None, "deny": False, **fixed}


def play_round(work, seed):
    """One question; in every second round its process is killed and goes on."""
    draw = random.Random(seed)
    (work / "root").mkdir(parents=True)
    effects = work / "root" / "effects.txt"

    def count():
        return len(effects.read_text()) if effects.exists() else 0

    kill = draw.choice([None, draw.choice(DELAYS_S) + 0.2])
    first = AskingProcess(work, 1, make_plan(draw, kill=kill)).run()
    before = count()
    if not first.killed:
        first.check(before)
        return
    assert before <= 1, seed
    if before:
        # It was allowed, and reported as allowed before anything happened.
        decided = [one["decision"] for one in first.notes if "decision" in one]
        assert decided == ["yes"], (seed, first.notes)
    deny, late = draw.choice([False, True]), draw.choice([False, True])
    if late:
        # Nobody waits for this answer any more.
        for left in pending_approvals(queue_directory(work / "root")):
            answer_pending(left, Answer.YES)
    second = AskingProcess(work, 2, make_plan(draw, deny=deny)).run()
    after = count()
    assert before <= after <= 1, (seed, second.notes)
    if before == 0:
        second.check(after)
    if deny:
        assert after == before, (seed, second.notes)


def play_rounds(tmp_path, count, at_once):
    seed = random.randrange(1 << 30)
    with ThreadPoolExecutor(at_once) as pool:
        rounds = [
            pool.submit(play_round, tmp_path / str(number), seed + number)
            for number in range(count)
        ]
    failed = {seed + n: one.exception() for n, one in enumerate(rounds) if one.exception()}
    assert failed == {}


@pytest.mark.threat("A20", "A35")
def test_one_question_on_four_surfaces(tmp_path):
    play_rounds(tmp_path, 4, at_once=2)


@pytest.mark.torture
@pytest.mark.timeout(1_800)
@pytest.mark.threat("A20", "A35")
def test_two_hundred_questions_on_four_surfaces(tmp_path):
    play_rounds(tmp_path, 200, at_once=4)
