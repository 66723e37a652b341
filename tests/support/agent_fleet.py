"""Many agents in several processes on one tree: `agent_fleet.py GIVEN`, where GIVEN is JSON, is one
process with one main agent that starts all of its agents at once, and prints what came of them.

The model decides by what the conversation already has, so a process that was killed goes on.
"""

import asyncio
import json
import random
import re
import sys
from pathlib import Path

import handrail
from handrail.core.ports.models import CallBlock, ResultBlock
from handrail.models.custom import CustomModel, CustomReply

STEPS = 4
INTERRUPTED = re.compile("no effect of it is on record|changed no file|nothing of it remains")
# Others have changed the file as well, so only a look at it tells whether the line was appended.
UNKNOWN = "changed by somebody else since"
SHARED = 5
WRITERS, READERS = "general", ("explore", "review", "test")


def kind_of(number):
    """Every fifth agent only reads."""
    return READERS[number // 5 % len(READERS)] if number % 5 == 4 else WRITERS


def line_of(process, number, step):
    return f"{process}:{number}:{step}"


def took_effect(root, call, text):
    """Whether a call that failed with this text has written what it should."""
    if UNKNOWN not in text:
        return not INTERRUPTED.search(text)
    _, arguments = json.loads(call)
    return arguments["content"] in (root / arguments["path"]).read_text()


def finished_calls(root, messages):
    """The calls that were made and answered, unless they were interrupted before they took effect."""
    asked, done = {}, set()
    for message in messages:
        for block in message.blocks:
            if isinstance(block, CallBlock):
                asked[block.id] = json.dumps([block.name, json.loads(block.arguments_json)])
            elif isinstance(block, ResultBlock):
                text = "".join(getattr(one, "text", "") for one in block.blocks)
                call = asked[block.call_id]
                if not block.is_error or took_effect(root, call, text):
                    done.add(call)
    return done


class FleetModel(CustomModel):
    """The main agent starts agents; each writer appends lines to shared files and writes its own."""

    name = "fleet"

    def __init__(self, root, process, agents):
        self.root = root
        self.process = process
        self.agents = agents

    async def reply(self, request):
        await asyncio.sleep(random.random() / 50)
        words = request.messages[0].text.split()
        if words[0] == "Fleet":
            begun = any(one.role == "assistant" for one in request.messages)
            return CustomReply("all done") if begun else self._start()
        done = finished_calls(self.root, request.messages)
        for step in range(STEPS):
            # What was interrupted, and only that, is done again.
            left = [one for one in self._calls(int(words[1]), step) if json.dumps(one) not in done]
            if left:
                return CustomReply(calls=tuple(left))
        return CustomReply(f"agent {words[1]} is done")

    def _start(self):
        return CustomReply(
            calls=tuple(
                (
                    "subagent",
                    {"task": f"Agent {number} of {self.process}", "agent": kind_of(number)},
                )
                for number in range(self.agents)
            )
        )

    def _calls(self, number, step):
        line = line_of(self.process, number, step)
        own = {"path": f"own/{self.process}-{number}-{step}.txt", "content": line}
        if kind_of(number) != WRITERS:
            return (("write_file", own), ("grep", {"pattern": line, "path": "shared"}))
        if number == 0:
            # It touches nothing that others do, so undoing it conflicts with nobody.
            return (("write_file", own),)
        shared = f"shared/{(number + step) % SHARED}.txt"
        append = {"path": shared, "content": f"{line}\n", "mode": "append"}
        job = (("run_command", {"command": "sleep 300", "background": True}),)
        starts = job if number % 6 == 2 and step == 1 else ()
        return (("write_file", append), ("write_file", own), *starts)


async def cancel_some(rt, share, seed):
    """Cancel the calls that wait for a share of the agents, at different moments."""
    chosen, agents = random.Random(seed), rt.agent_services.subagents.value
    seen = set()
    while True:
        await asyncio.sleep(0.02)
        for state in agents.states():
            if state.id in seen or not state.running or "Agent 0 " in state.task:
                continue
            if state.turns or chosen.random() < 0.2:
                seen.add(state.id)
                if chosen.random() < share:
                    await rt.cancel(state.call_id)


async def main(given):
    asked = []

    def approve(request):
        asked.append(request)
        return True

    model = FleetModel(Path(given["root"]), given["process"], given["agents"])
    async with handrail.open(
        given["root"],
        model=model,
        mode="default",
        session=given["session"],
        approver=approve,
        config={"budget": {"calls": given["calls"]}},
    ) as rt:
        allowed = ["write_file", "grep", "run_command", "subagent"]
        agent = rt.agent(allowed=allowed, session=given["session"])
        cancelling = asyncio.ensure_future(cancel_some(rt, given["cancelled"], given["process"]))
        result = await (agent.resume() if given["resume"] else agent.run("Fleet"))
        cancelling.cancel()
        agents = rt.agent_services.subagents.value
        states = [await agents.current(one.id) for one in agents.states()]
        mine = [one for one in await rt.jobs.list() if one.session == rt.session.id]
        jobs = [one.state.value for one in mine]
        outcome = {
            "status": result.status,
            "calls": result.usage.calls,
            "asked": len(asked),
            "jobs": jobs,
            "agents": [
                {
                    "id": one.id,
                    "task": one.task,
                    "type": one.agent,
                    "status": one.status,
                    "text": one.text,
                    "changes": list(one.report.changes),
                    "refused": [refusal.code for refusal in one.report.refused],
                }
                for one in states
            ],
        }
    print(json.dumps(outcome), flush=True)


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
