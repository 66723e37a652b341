"""Which requests a runner serves, and when it ends."""

from types import SimpleNamespace

import pytest

from handrail.host.supervisor.runner import main
from handrail.host.supervisor.wire import FrameKind, WireFrame


class RunnerWith:
    """A runner to which these requests come."""

    def __init__(self, requests):
        self.leaves = False
        self.requests = list(requests)

    def next_request(self):
        return self.requests.pop(0) if self.requests else None


@pytest.fixture
def serve(monkeypatch):
    """Serve requests; what was done, in order, and the runner."""

    def serve(*requests, leaves_after=None):
        done, runner = [], RunnerWith(requests)

        def note(what):
            def run(given, request):
                done.append(what)
                assert given is runner
                given.leaves = given.leaves or what == leaves_after

            return run

        for name in ("run_foreground", "run_background", "run_channel"):
            monkeypatch.setattr(main, name, note(name))
        monkeypatch.setattr(main, "Runner", lambda connection, runtime, roots: runner)
        main.run_runner(SimpleNamespace(), 7, lambda: done.append("lock released"))
        return done, runner

    return serve


def job(*, kept):
    return WireFrame(FrameKind.JOB, {"job": {"kept": kept}}, b"")


RUN = WireFrame(FrameKind.RUN, {}, b"")
OPEN = WireFrame(FrameKind.OPEN, {}, b"")


def test_programs_are_run_one_after_another_until_the_runtime_ends(serve):
    done, runner = serve(RUN, OPEN, RUN)

    assert done == ["run_foreground", "run_channel", "run_foreground"]
    assert runner.leaves is False


@pytest.mark.parametrize(
    ("kept", "expected"),
    [(False, ["run_background"]), (True, ["lock released", "run_background"])],
)
def test_a_runner_ends_with_its_job_and_a_kept_job_outlives_the_lock(serve, kept, expected):
    done, runner = serve(job(kept=kept), RUN)

    assert done == expected
    assert runner.leaves is True
    assert runner.requests == [RUN]


def test_a_runner_that_cannot_serve_again_serves_no_more(serve):
    done, _ = serve(RUN, RUN, leaves_after="run_foreground")

    assert done == ["run_foreground"]
