"""Starts `handrail run` by forking from a process that has everything imported, and kills it at a
counted passage of instrumented functions or after a time.

`python -m tests.support.killed_runs` reads one request per line from standard input and answers each
with one line: the exit code, negative for a signal, and how often an instrumented point was passed.
"""

import json
import os
import signal
import sys

# Where a kill hurts: around what is written, sent, run and released.
POINTS = (
    ("handrail.agent.conversation", "Conversation", "append"),
    ("handrail.agent.conversation", "Conversation", "update"),
    ("handrail.agent.conversation", "Conversation", "flush"),
    ("handrail.agent.lease", "ConversationLease", "acquire"),
    ("handrail.agent.lease", "ConversationLease", "release"),
    ("handrail.agent.turns", "TurnRunner", "run"),
    ("handrail.engine.providers.streamed_calls", "StreamedCalls", "add"),
    ("handrail.engine.providers.streamed_calls", "StreamedCalls", "finish"),
    ("handrail.engine.executors.plan_executor", "PlanExecutor", "execute"),
    ("handrail.engine.recording.recorder", "Recorder", "settle"),
    ("handrail.store.sqlite.store", "RecordStore", "append"),
    ("handrail.store.sqlite.store", "RecordStore", "flush"),
    ("handrail.models.client", "WireModel", "_send"),
)


def instrument(pass_by):
    """Call `pass_by` before and after each instrumented function."""
    import importlib
    import inspect

    for module, owner, name in POINTS:
        where = getattr(importlib.import_module(module), owner)
        setattr(where, name, _around(getattr(where, name), pass_by, inspect))


def _around(function, pass_by, inspect):
    if inspect.iscoroutinefunction(function):

        async def around(*arguments, **named):
            pass_by()
            result = await function(*arguments, **named)
            pass_by()
            return result

    else:

        def around(*arguments, **named):
            pass_by()
            result = function(*arguments, **named)
            pass_by()
            return result

    return around


def run_child(request, report):
    """One run in this process; `kill_at` is the number of the passage to die at, 0 for none."""
    passed = 0

    def pass_by():
        nonlocal passed
        passed += 1
        os.pwrite(report, f"{passed:12d}".encode(), 0)
        if passed == request["kill_at"]:
            os.kill(os.getpid(), signal.SIGKILL)

    os.chdir(request["cwd"])
    os.environ.update(request["env"])
    out = os.open(request["out"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (out, 1), (out, 2)):
        os.dup2(source, target)
    instrument(pass_by)
    if request["kill_after_s"]:
        # A timer whose signal is not caught: it kills at any moment, whatever the process does.
        signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        signal.setitimer(signal.ITIMER_REAL, request["kill_after_s"])
    from handrail.cli.main import main

    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115 - the process ends with it
    sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
    code = main(request["words"])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def serve():
    """Answer requests until the input ends."""
    import importlib

    for module, _, _ in POINTS:
        importlib.import_module(module)
    for module in (
        "agent.agent",
        "cli.commands.agent.run",
        "cli.runner",
        "assembly.runtime_opener",
    ):
        importlib.import_module(f"handrail.{module}")
    for line in sys.stdin:
        request = json.loads(line)
        with open(request["out"] + ".passed", "w+b") as passed:
            child = os.fork()
            if child == 0:
                try:
                    run_child(request, passed.fileno())
                finally:
                    os._exit(99)
            _, status = os.waitpid(child, 0)
            passed.seek(0)
            count = int(passed.read() or b"0")
        print(json.dumps({"code": os.waitstatus_to_exitcode(status), "passed": count}), flush=True)


if __name__ == "__main__":
    serve()
