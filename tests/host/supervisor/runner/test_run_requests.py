"""What a runner keeps of a program's output, sends while it runs, and answers at its end."""

import os
import resource
from pathlib import Path
from types import SimpleNamespace

import pytest

from handrail.core.ports.processes import JobState
from handrail.host.sandbox.recipe import Recipe
from handrail.host.supervisor import job_records
from handrail.host.supervisor.runner import run_requests
from handrail.host.supervisor.runner.process_tree import EventLoop
from handrail.host.supervisor.runner.program import CHUNK, ExitReason, OutputSinks, ProgramExit
from handrail.host.supervisor.runner.run_requests import (
    HEAD_BYTES,
    TAIL_BYTES,
    LiveOutput,
    OutputCapture,
    SpillTarget,
    run_background,
    run_channel,
    run_foreground,
)
from handrail.host.supervisor.wire import FrameKind, WireFrame, encode_recipe

BOTH = HEAD_BYTES + TAIL_BYTES
RECIPE = Recipe(("prog", "arg"), {"A": "1"}, "/")


def capture(parts, room=None):
    taken = OutputCapture("stdout", room)
    for part in parts:
        taken.take(memoryview(part))
    return taken.close()


def numbered(size):
    """Bytes in which every position can be told from its neighbours."""
    return b"".join(b"%07d\n" % number for number in range(size // 8 + 1))[:size]


@pytest.mark.parametrize(
    ("size", "head", "dropped"),
    [
        (0, 0, 0),
        (1, 1, 0),
        (HEAD_BYTES, HEAD_BYTES, 0),
        (HEAD_BYTES + 1, HEAD_BYTES, 0),
        (BOTH, HEAD_BYTES, 0),
        (BOTH + 1, HEAD_BYTES, 1),
        (BOTH + 10 * TAIL_BYTES, HEAD_BYTES, 10 * TAIL_BYTES),
    ],
)
@pytest.mark.parametrize("step", [10_000, TAIL_BYTES, 1 << 20])
def test_the_start_and_the_end_of_a_stream_are_kept(size, head, dropped, step):
    data = numbered(size)

    header, body = capture(data[at : at + step] for at in range(0, size, step))

    assert header == {"head": head, "total": size, "saved": None, "dropped": dropped}
    assert body == data[:head] + data[head:][-TAIL_BYTES:]


@pytest.mark.parametrize("step", [10_000, TAIL_BYTES, 1 << 20])
def test_what_is_too_long_for_a_result_is_saved_whole(tmp_path, step):
    data = numbered(BOTH + 5 * TAIL_BYTES + 3)
    folder = tmp_path / "new" / "outputs"

    header, body = capture(
        (data[at : at + step] for at in range(0, len(data), step)),
        SpillTarget(str(folder), 1 << 30),
    )

    saved = Path(header["saved"])
    assert saved.parent == folder
    assert saved.name.endswith("-stdout.txt")
    assert saved.read_bytes() == data
    assert saved.stat().st_mode & 0o777 == 0o600
    assert header["dropped"] == 0
    assert body == data[:HEAD_BYTES] + data[-TAIL_BYTES:]


def test_nothing_is_saved_of_a_stream_that_fits(tmp_path):
    room = SpillTarget(str(tmp_path / "outputs"), 1 << 30)

    header, _ = capture([numbered(HEAD_BYTES), numbered(TAIL_BYTES)], room)

    assert header["saved"] is None
    assert not (tmp_path / "outputs").exists()


@pytest.mark.parametrize("limit", [BOTH - 1, BOTH + TAIL_BYTES, BOTH + 3 * TAIL_BYTES])
def test_a_saved_stream_ends_at_its_limit_without_a_gap(tmp_path, limit):
    data = numbered(BOTH + 6 * TAIL_BYTES)

    header, _ = capture(
        (data[at : at + 10_000] for at in range(0, len(data), 10_000)),
        SpillTarget(str(tmp_path), limit),
    )

    assert Path(header["saved"]).read_bytes() == data[:limit]
    assert header["dropped"] == len(data) - limit - TAIL_BYTES


def test_a_stream_that_cannot_be_saved_is_cut(tmp_path):
    (tmp_path / "file").write_bytes(b"")

    header, body = capture(
        [numbered(BOTH), b"x", b"y"], SpillTarget(str(tmp_path / "file" / "below"), 1 << 30)
    )

    assert (header["saved"], header["dropped"]) == (None, 2)
    assert body.endswith(b"xy")


def test_a_full_disk_keeps_what_was_written(tmp_path, monkeypatch):
    real, left = os.write, [BOTH + 2]

    def write(handle, data):
        if left[0] == 0:
            raise OSError(28, "no space")
        done = real(handle, data[: left[0]])
        left[0] -= done
        return done

    taken = OutputCapture("stdout", SpillTarget(str(tmp_path), 1 << 30))
    data = numbered(BOTH + 8)
    taken.take(memoryview(data[:BOTH]))
    monkeypatch.setattr(os, "write", write)
    taken.take(memoryview(data[BOTH:]))
    left[0] = 100
    taken.take(memoryview(b"later"))
    monkeypatch.undo()
    header, _ = taken.close()

    assert Path(header["saved"]).read_bytes() == data[: BOTH + 2]


class TestLiveOutput:
    def make(self, *accepts):
        sent, answers = [], iter(accepts)

        def send(stream, data, skipped):
            sent.append((stream, data, skipped))
            return next(answers, True)

        return LiveOutput(send), sent

    def test_nothing_is_due_before_there_is_output(self):
        live, sent = self.make()

        live.flush(1.0)

        assert (live.due(), sent) == (None, [])

    def test_the_first_output_goes_out_at_once_and_the_next_waits(self):
        live, sent = self.make()

        live.take("stdout", memoryview(b"a"))
        assert live.due() == 0.0
        live.flush(100.0)
        live.take("stdout", memoryview(b"b"))
        live.flush(100.04)
        assert sent == [("stdout", b"a", 0)]
        assert live.due() == pytest.approx(100.05)
        live.flush(live.due())

        assert sent[1:] == [("stdout", b"b", 0)]
        assert live.due() is None

    def test_output_of_both_streams_is_sent_together(self):
        live, sent = self.make()

        for stream, data in [("stdout", b"a"), ("stderr", b"x"), ("stdout", b"b")]:
            live.take(stream, memoryview(data))
        live.flush(1.0)

        assert sent == [("stdout", b"ab", 0), ("stderr", b"x", 0)]

    @pytest.mark.parametrize(
        ("sizes", "given", "skipped"),
        [
            ((65_536,), 65_536, 0),
            ((65_537,), 65_536, 1),
            ((65_535, 1), 65_536, 0),
            ((65_535, 3), 65_536, 2),
            ((65_536, 5, 7), 65_536, 12),
            ((70_000, 5), 65_536, 4_469),
        ],
    )
    def test_an_update_is_limited_and_says_what_it_omits(self, sizes, given, skipped):
        live, sent = self.make()

        for size in sizes:
            live.take("stdout", memoryview(bytes(size)))
        live.flush(1.0)

        assert [(len(data), omitted) for _, data, omitted in sent] == [(given, skipped)]

    def test_what_could_not_be_sent_is_counted_in_the_next_update(self):
        live, sent = self.make(False, False, True)

        live.take("stdout", memoryview(bytes(65_540)))
        live.flush(1.0)
        live.take("stdout", memoryview(b"abc"))
        live.flush(2.0)
        live.take("stdout", memoryview(b"d"))
        live.flush(3.0)
        live.take("stdout", memoryview(b"e"))
        live.flush(4.0)

        assert [skipped for _, _, skipped in sent] == [4, 65_540, 65_543, 0]


class FakeRunner:
    """Starts nothing: a program is a function that writes to the pipes."""

    def __init__(self, program, why=ExitReason.ENDED, survivors=(), handles=()):
        self.program, self.why, self.survivors = program, why, survivors
        self.frames, self.offered, self.answers, self.limits = [], [], [], []
        self.recipe = self.is_job = self.keeps = self.leaves = None
        self.loop = EventLoop()
        self.on_input_closed = None
        self.handles = list(handles)
        self.channel = SimpleNamespace(
            offer=self.offer,
            take_handles=lambda: self.handles,
            send=lambda kind, header: self.frames.append((kind, header)),
        )
        self.cancelled = []

    def offer(self, stream, data, skipped):
        self.offered.append((stream, data, skipped))
        return True

    def sinks(self):
        return OutputSinks(self.loop, bytearray(CHUNK))

    def start(self, recipe, outputs):
        self.started = recipe
        done = self.program(outputs)
        for handle in outputs:
            if handle is not None:
                os.close(handle)
        if done is False:
            return None
        return SimpleNamespace(
            pid=os.getpid(),
            connections=lambda: [("example.org", 443, "")],
            cancel=lambda: self.cancelled.append(True),
        )

    def watch(self, timeout_s, each_turn):
        self.limits.append(timeout_s)
        self.loop.turn(0.0)
        self.next_call = each_turn()
        return ProgramExit(self.why, 3, 1.5, 2, self.survivors)

    def answer(self, kind, header, body=b""):
        self.answers.append((kind, {**header, "leaves": self.leaves}, body))


def run_request(body=b"filter", **header):
    fields = {
        "spill": None,
        "live": False,
        "reports": False,
        "stdin": 0,
        "timeout_s": 7.0,
        "recipe": encode_recipe(RECIPE),
    }
    return WireFrame(FrameKind.RUN, fields | header, body)


def speak(outputs):
    os.write(outputs.stdout, b"out")
    os.write(outputs.stderr, b"error")


def test_a_program_in_the_foreground_is_answered_with_its_output():
    runner = FakeRunner(speak)

    run_foreground(runner, run_request())

    [(kind, header, body)] = runner.answers
    stream = {"saved": None, "dropped": 0}
    assert kind is FrameKind.ENDED
    assert header == {
        "exit_code": 3,
        "duration_s": 1.5,
        "timed_out": False,
        "cancelled": False,
        "ended_children": 2,
        "survivors": (),
        "directory": None,
        "stdout": stream | {"head": 3, "total": 3},
        "stderr": stream | {"head": 5, "total": 5},
        "split": 3,
        "connections": [("example.org", 443, "")],
        "leaves": False,
    }
    assert body == b"outerror"
    assert runner.started == RECIPE._replace(filter=b"filter")
    assert (runner.limits, runner.offered, runner.next_call) == ([7.0], [], None)


@pytest.mark.parametrize(
    ("why", "timed_out", "cancelled"),
    [(ExitReason.TIMED_OUT, True, False), (ExitReason.CANCELLED, False, True)],
)
def test_an_answer_says_why_a_program_was_ended(why, timed_out, cancelled):
    runner = FakeRunner(speak, why, survivors=(41,))

    run_foreground(runner, run_request())

    header = runner.answers[0][1]
    assert (header["timed_out"], header["cancelled"]) == (timed_out, cancelled)
    assert (header["survivors"], header["leaves"]) == ((41,), True)


def test_the_input_of_a_program_is_the_end_of_the_request():
    given = []
    runner = FakeRunner(lambda outputs: given.append(os.read(outputs.stdin, 100)))

    run_foreground(runner, run_request(b"filterinput", stdin=5))

    assert given == [b"input"]
    assert runner.started.filter == b"filter"


def test_a_program_without_input_has_no_descriptor_for_it():
    given = []
    runner = FakeRunner(lambda outputs: given.append((outputs.stdin, outputs.report)))

    run_foreground(runner, run_request())

    assert given == [(None, None)]


def test_live_output_is_sent_and_the_rest_follows_at_the_end():
    runner = FakeRunner(speak)

    run_foreground(runner, run_request(live=True))

    assert sorted(runner.offered) == [("stderr", b"error", 0), ("stdout", b"out", 0)]
    assert runner.answers[0][2] == b"outerror"


def test_a_program_that_does_not_start_has_no_second_answer():
    runner = FakeRunner(lambda outputs: False)

    run_foreground(runner, run_request())

    assert (runner.answers, runner.limits) == ([], [])


@pytest.mark.parametrize(
    ("report", "directory"),
    [
        (b"/a/b\n", "/a/b"),
        (b"/a/b", "/a/b"),
        (b"/\n", "/"),
        (b"", None),
        (b"a/b\n", None),
        (b"/a\n/b\n", None),
        (b"/a\0b\n", None),
        (b"/a\n\n", None),
        (b"/" + b"a" * 8190 + b"\n", "/" + "a" * 8190),
        (b"/" + b"a" * 8191 + b"\n", None),
        (b"/\xff\n", "/\udcff"),
    ],
)
def test_a_reported_directory_is_one_absolute_path(report, directory):
    runner = FakeRunner(lambda outputs: os.write(outputs.report, report))

    run_foreground(runner, run_request(reports=True))

    assert runner.answers[0][1]["directory"] == directory


def test_long_output_is_saved_where_the_request_says(tmp_path):
    data = numbered(BOTH + 1)
    taken = []

    def speak_long(outputs):
        taken.append(os.dup(outputs.stdout))

    runner = FakeRunner(speak_long)
    watch = runner.watch

    def watch_and_write(timeout_s, each_turn):
        for at in range(0, len(data), 4096):
            os.write(taken[0], data[at : at + 4096])
            runner.loop.turn(0.0)
        os.close(taken[0])
        return watch(timeout_s, each_turn)

    runner.watch = watch_and_write
    run_foreground(runner, run_request(spill=[str(tmp_path), 1 << 30]))

    saved = runner.answers[0][1]["stdout"]["saved"]
    assert Path(saved).read_bytes() == data


def channel_request(memory_mb=0):
    header = {"memory_mb": memory_mb, "timeout_s": None, "recipe": encode_recipe(RECIPE)}
    return WireFrame(FrameKind.OPEN, header, b"filter")


@pytest.mark.parametrize(("survivors", "leaves"), [((), False), ((41,), True)])
def test_a_program_to_talk_to_has_the_descriptors_of_the_runtime(survivors, leaves):
    stdin, theirs = os.pipe()
    ours, stdout = os.pipe()
    os.write(theirs, b"ping")

    def talk(outputs):
        os.write(outputs.stdout, os.read(outputs.stdin, 100))
        os.write(outputs.stderr, b"note")

    runner = FakeRunner(talk, survivors=survivors, handles=[stdin, stdout])
    runner.leaves = False
    run_channel(runner, channel_request())

    [(kind, header, body)] = runner.answers
    assert os.read(ours, 100) == b"ping"
    assert runner.frames == [(FrameKind.STARTED, {"pid": os.getpid()})]
    assert (kind, body, header["split"], header["leaves"]) == (FrameKind.ENDED, b"note", 0, leaves)
    assert header["connections"] == [("example.org", 443, "")]
    assert runner.offered == [("stderr", b"note", 0)]
    assert runner.started == RECIPE._replace(filter=b"filter")
    for handle in (theirs, ours):
        os.close(handle)


@pytest.mark.parametrize(
    ("hard", "size"),
    [
        (resource.RLIM_INFINITY, 5 << 20),
        (9 << 20, 5 << 20),
        (3 << 20, 3 << 20),
    ],
)
def test_a_memory_limit_binds_the_runner_which_serves_nothing_else(monkeypatch, hard, size):
    limits = []
    monkeypatch.setattr(run_requests.resource, "getrlimit", lambda kind: (hard, hard))
    monkeypatch.setattr(run_requests.resource, "setrlimit", lambda *given: limits.append(given))
    runner = FakeRunner(lambda outputs: None, handles=os.pipe())

    run_channel(runner, channel_request(memory_mb=5))

    assert limits == [(resource.RLIMIT_DATA, (size, size))]
    assert runner.answers[0][1]["leaves"] is True


def job_request(place, kind="none"):
    job = {
        "id": "1",
        "session": "s",
        "call_id": "c",
        "command": "sleep 9",
        "description": "",
        "kept": True,
    }
    header = {
        "place": str(place),
        "job": job,
        "input": kind,
        "timeout_s": 9.0,
        "recipe": encode_recipe(RECIPE),
    }
    return WireFrame(FrameKind.JOB, header, b"filter")


@pytest.fixture
def place(tmp_path):
    place = tmp_path / "1"
    place.mkdir()
    return place


@pytest.mark.parametrize(
    ("why", "state"),
    [
        (ExitReason.ENDED, JobState.EXITED),
        (ExitReason.TIMED_OUT, JobState.TIMED_OUT),
        (ExitReason.CANCELLED, JobState.KILLED),
    ],
)
def test_the_record_of_a_job_says_how_it_ended(place, why, state):
    runner = FakeRunner(speak, why)

    run_background(runner, job_request(place))

    job = job_records.read_record(place.parent, "1").job
    assert (job.state, job.exit_code, job.pid, job.command) == (state, 3, None, "sleep 9")
    assert job.ended_at >= job.started_at
    assert [tuple(one) for one in job.connections] == [("example.org", 443, "")]
    assert (runner.is_job, runner.keeps, runner.limits) == (True, True, [9.0])
    assert runner.frames == [(FrameKind.STARTED, {"pid": os.getpid()})]
    assert runner.answers == [(FrameKind.ENDED, {"survivors": (), "leaves": None}, b"")]
    assert b"".join(one.read_bytes() for one in place.glob("output.*")) == b"outerror"


def test_a_running_job_is_on_record(place):
    seen = []

    def look(timeout_s, each_turn):
        seen.append(job_records.read_record(place.parent, "1"))
        return ProgramExit(ExitReason.ENDED, 0, 0.1, 0, ())

    runner = FakeRunner(speak)
    runner.watch = look
    run_background(runner, job_request(place))

    assert (seen[0].job.state, seen[0].job.pid) == (JobState.RUNNING, os.getpid())
    assert seen[0].job.ended_at is None
    assert seen[0].runner == seen[0].program


def test_a_job_that_cannot_be_recorded_is_ended(place):
    (place / "job.json.new").mkdir()
    runner = FakeRunner(speak)

    run_background(runner, job_request(place))

    assert runner.cancelled == [True]
    assert runner.answers[0][0] is FrameKind.FAILED
    assert runner.answers[0][1]["name"] == str(place)
    assert runner.frames == []


def test_the_input_of_a_job_can_be_closed_and_is_removed_with_it(place):
    read = []

    def look(timeout_s, each_turn):
        with open(place / "stdin", "wb") as pipe:
            pipe.write(b"typed")
        runner.on_input_closed()
        assert not (place / "stdin").exists()
        read.append(os.read(kept[0], 100) + os.read(kept[0], 100))
        os.close(kept[0])
        return ProgramExit(ExitReason.ENDED, 0, 0.1, 0, ())

    kept = []
    runner = FakeRunner(lambda outputs: kept.append(os.dup(outputs.stdin)))
    runner.watch = look
    run_background(runner, job_request(place, "pipe"))

    assert read == [b"typed"]


def test_the_connections_of_a_running_job_are_written_once_a_second(place, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(run_requests.time, "monotonic", lambda: now[0])
    seen = []

    def watch(timeout_s, each_turn):
        for step in (0.5, 0.5, 0.5, 0.5):
            now[0] += step
            due = each_turn()
            job = job_records.read_record(place.parent, "1").job
            seen.append((len(job.connections), due))
        return ProgramExit(ExitReason.ENDED, 0, 0.1, 0, ())

    runner = FakeRunner(speak)
    runner.watch = watch
    request = job_request(place)
    request.header["recipe"]["hosts"] = ["example.org"]
    run_background(runner, request)

    assert seen == [(0, 101.0), (1, 102.0), (1, 102.0), (1, 103.0)]


def test_without_hosts_a_job_has_nothing_to_do_between_events(place):
    runner = FakeRunner(speak)

    run_background(runner, job_request(place))

    assert runner.next_call is None
