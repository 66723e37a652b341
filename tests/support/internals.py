"""Parts of an open runtime that tests look at or replace."""

from handrail.engine.prepare.prepared_call import ExecutorKind


def blobs(rt):
    """Where the runtime keeps old contents."""
    return rt._calls.runner.pipeline.executors[ExecutorKind.PLAN].committer.blobs


def command_runner(rt):
    """What runs the commands of the runtime."""
    return rt._calls.runner.pipeline.executors[ExecutorKind.COMMAND].runner


def running_calls(rt):
    """The timers of all running calls."""
    return rt._calls.timers.running()


def clock(rt):
    """The clock of the runtime."""
    return rt._calls.batches.value.clock
