"""A fleet runs every task once: shared between tenants, after kills, and only one at a time."""

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from tests.support.waiting import running, wait_exit, wait_until, wait_until_async

from handrail.cli.main import main
from handrail.core.problems import ProblemRaised
from handrail.host.state.identities import this_process
from handrail.scale import Fleet, FleetOptions, LocalExecutor, TenantLimits
from handrail.scale.executor import TaskEnded, WorkerLost
from handrail.scale.journal import FleetJournal
from handrail.scale.placement import WorkerPlacement
from handrail.scale.task_result import NOT_ENDED, blank_result

LIMIT_S = 100
MODE = {"mode": "accept-edits"}


def run(fleet, on_result=None):
    """The report of a fleet, within a limit."""
    return asyncio.run(asyncio.wait_for(fleet.run(on_result), LIMIT_S))


def results(state):
    lines = (state / "results.jsonl").read_text().splitlines()
    return {one["id"]: one for one in map(json.loads, lines)}, len(lines)


class TimedExecutor:
    """An executor without processes: tasks end in the order in which they were started, one at each
    step. `loses` are the numbers of tasks that end their worker.
    """

    def __init__(self, processes=2, agents=2, loses=(), ready=True):
        self.ready = ready
        self.processes = processes
        self.agents = agents
        self.loses = set(loses)
        self.orders = []
        self.most = 0
        self._open = []

    async def start(self, state, lock, settings):
        self.settings = settings

    async def submit(self, worker, order):
        self.orders.append((worker, order))
        self._open.append((worker, order))
        self.most = max(self.most, len(self._open))

    async def next_event(self):
        await wait_until_async(lambda: self._open)
        worker, order = self._open[0]
        if order["number"] in self.loses:
            lost = [one for at, one in self._open if at == worker]
            self._open = [(at, one) for at, one in self._open if at != worker]
            return WorkerLost(worker, tuple(one["number"] for one in lost), self.ready)
        self._open.pop(0)
        given = json.loads(order["text"])
        usage = {"input_tokens": order["budget"]["tokens"] or 10, "output_tokens": 0, "usd": None}
        result = blank_result(given["id"], given["tenant"], order["lost"])
        status = "unknown" if order["settle"] else "done"
        return TaskEnded(
            order["number"], {**result, "status": status, "passed": True, "usage": usage}
        )

    async def aclose(self):
        self._open.clear()


def plain(tenant, count, **more):
    return [
        {"id": f"{tenant}-{n}", "workspace": ".", "prompt": "x", "tenant": tenant, "model": "a:b"}
        | more
        for n in range(count)
    ]


def make_fleet(given, executor, tmp_path, **options):
    return Fleet(given, executor, state=tmp_path / "state", options=FleetOptions(**options))


def test_every_task_runs_once_in_processes(tasks, capsys):
    path = tasks.file(tasks.task(f"t{n}", tenant="ab"[n % 2]) for n in range(12))
    state = tasks.root / "tasks.jsonl.fleet"

    code = main(["fleet", "run", str(path), "--mode", "accept-edits", "--processes", "2", "--json"])

    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    found, lines = results(state)
    assert code == 0
    assert (lines, set(found)) == (12, {f"t{n}" for n in range(12)})
    assert {one["id"]: one for one in printed[:-1]} == found
    assert printed[-1]["complete"] and printed[-1]["tasks"]["passed"] == 12
    assert {tuple(one["changes"]) for one in found.values()} == {("b.txt",)}
    assert not list(state.glob("tasks/*/workspace"))
    # Again: nothing is left to do.
    assert main(["fleet", "run", str(path), "--mode", "accept-edits"]) == 0
    assert results(state)[1] == 12
    assert main(["fleet", "status", str(path)]) == 0
    assert "12 of 12 tasks ended · 12 passed" in capsys.readouterr().out


def test_a_killed_worker_and_a_killed_fleet_are_resumed(tasks):
    slow = [
        {"calls": [{"name": "write_file", "arguments": {"path": "b.txt", "content": "new\n"}}]},
        {"calls": [{"name": "list_files", "arguments": {}}], "delay_s": 0.4},
        {"text": "end"},
    ]
    model = tasks.script("slow.jsonl", slow)
    path = tasks.file(tasks.task(f"t{n}", model=model) for n in range(16))
    state = tasks.root / "tasks.jsonl.fleet"
    command = [sys.executable, "-m", "handrail", "fleet", "run", str(path), "--processes", "1"]
    command += ["--mode", "accept-edits", "--json", "--agents", "4"]

    with running(subprocess.Popen(command, stdout=subprocess.PIPE)) as fleet:
        assert json.loads(fleet.stdout.readline())["passed"]
        (worker,) = children(fleet.pid)
        os.kill(worker, signal.SIGKILL)
        # Another one is started for the tasks that were lost.
        second = wait_until(lambda: [one for one in children(fleet.pid) if one != worker])
        fleet.kill()
        wait_exit(fleet)
    # Workers end with their fleet.
    wait_until(lambda: not any(is_alive(pid) for pid in second))
    before = results(state)[0]

    options = FleetOptions(**MODE)
    report = run(Fleet(path, LocalExecutor(1, 8), options=options))

    found, lines = results(state)
    assert (report.complete, report.counts.passed, lines, len(found)) == (True, 16, 16, 16)
    assert {id: found[id] for id in before} == before
    assert {one["turns"] for one in found.values()} == {3}
    assert {tuple(one["changes"]) for one in found.values()} == {("b.txt",)}
    assert any(one["lost_workers"] for one in found.values())


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(one) for one in file.read().split()]
    except OSError:
        return []


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_two_fleets_of_one_state_refuse_each_other(tmp_path):
    first = make_fleet(plain("a", 1), TimedExecutor(), tmp_path)
    with first.state.locked(), pytest.raises(ProblemRaised) as raised:
        run(make_fleet(plain("a", 1), TimedExecutor(), tmp_path))

    assert raised.value.problem.code == "unavailable"
    assert run(make_fleet(plain("a", 1), TimedExecutor(), tmp_path)).complete


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ([*plain("a", 2), *plain("a", 1)], "duplicate_id"),
        ([*plain("a", 2), {"id": "b"}], "invalid_arguments"),
        ([], "invalid_arguments"),
    ],
    ids=["twice", "no prompt", "none"],
)
def test_wrong_tasks_start_nothing(given, code, tmp_path):
    executor = TimedExecutor()

    with pytest.raises(ProblemRaised) as raised:
        run(make_fleet(given, executor, tmp_path))

    assert raised.value.problem.code == code
    assert executor.orders == []


def test_a_fleet_needs_records(tmp_path):
    with pytest.raises(ProblemRaised) as raised:
        make_fleet(plain("a", 1), TimedExecutor(), tmp_path, store=":memory:")

    assert raised.value.problem.code == "invalid_arguments"


@pytest.mark.parametrize(
    ("wrong", "said"), [({"mode": "sandbox"}, "sandbox"), ({"keep": "some"}, "some")]
)
def test_options_that_no_task_could_run_with(wrong, said):
    with pytest.raises(ProblemRaised) as refused:
        FleetOptions(**wrong)

    assert refused.value.problem.code == "invalid_arguments"
    assert said in refused.value.problem.message


def test_a_task_that_changed_is_a_conflict_and_new_ones_are_added(tmp_path):
    run(make_fleet(plain("a", 1), TimedExecutor(), tmp_path))
    more = TimedExecutor()

    assert run(make_fleet(plain("a", 3), more, tmp_path)).counts.ended == 3
    assert len(more.orders) == 2
    with pytest.raises(ProblemRaised) as raised:
        run(make_fleet(plain("a", 1, agent="other"), TimedExecutor(), tmp_path))
    assert raised.value.problem.code == "conflict"


def test_a_store_that_cannot_be_used_fails_no_task(tmp_path):
    (tmp_path / "other.db").write_text("this is no database, and longer than its header" * 3)
    executor = TimedExecutor()

    with pytest.raises(ProblemRaised) as raised:
        run(make_fleet(plain("a", 3), executor, tmp_path, store=str(tmp_path / "other.db")))

    assert raised.value.problem.code == "store_unavailable"
    assert executor.orders == []
    assert run(make_fleet(plain("a", 3), executor, tmp_path)).counts.ended == 3


def test_a_store_that_fails_stops_the_fleet_and_fails_no_task(tmp_path):
    class FailingStore(TimedExecutor):
        async def next_event(self):
            event = await super().next_event()
            if event.number == 3:
                problem = {"code": "store_unavailable", "message": "gone", "retryable": True}
                return event._replace(
                    result={**event.result, "status": NOT_ENDED, "problem": problem}
                )
            return event

    executor = FailingStore()
    with pytest.raises(ProblemRaised) as raised:
        run(make_fleet(plain("a", 20), executor, tmp_path))

    assert raised.value.problem.code == "store_unavailable"
    assert len(executor.orders) < 10
    more = TimedExecutor()
    report = run(make_fleet(plain("a", 20), more, tmp_path))
    assert (report.counts.ended, report.counts.by_status) == (20, {"done": 20})
    assert 3 in [order["number"] for _, order in more.orders]


def test_a_program_that_lives_on_is_not_taken_for_its_fleet(tmp_path):
    fleet = make_fleet(plain("a", 1), TimedExecutor(), tmp_path)
    seen = []

    run(fleet, lambda _: seen.append(fleet.state.holder()))

    assert seen == [this_process()]
    assert fleet.state.holder() is None


def test_a_greedy_tenant_leaves_the_other_half(tmp_path):
    executor = TimedExecutor(processes=2, agents=4)

    run(make_fleet(plain("greedy", 400) + plain("other", 40), executor, tmp_path))

    tenants = [json.loads(order["text"])["tenant"] for _, order in executor.orders]
    until = max(n for n, tenant in enumerate(tenants) if tenant == "other") + 1
    assert 40 / until >= 0.45
    assert executor.most == 8


def test_a_tenant_without_tasks_costs_nothing(tmp_path, monkeypatch):
    loads = []
    waiting = FleetJournal.waiting

    def count(self, tenant, after, limit):
        loads.append(tenant)
        return waiting(self, tenant, after, limit)

    monkeypatch.setattr(FleetJournal, "waiting", count)
    given = [{**one, "tenant": f"x{n}"} for n, one in enumerate(plain("a", 60))]

    # A worker that ends gives tasks back to tenants that had nothing left.
    assert run(make_fleet(given, TimedExecutor(loses={7}), tmp_path)).complete

    # Once with its task, once to find no more, and again after its task was given back.
    assert max(loads.count(tenant) for tenant in set(loads)) <= 2 + 4
    assert len(loads) <= 2 * 60 + 20


def test_the_limits_of_a_tenant_hold(tmp_path):
    class Watching(TimedExecutor):
        async def submit(self, worker, order):
            await super().submit(worker, order)
            mine = [at for at, one in self._open if '"tenant": "a"' in one["text"]]
            assert len(mine) <= 3
            assert len(set(mine)) <= 1

    limits = {"a": TenantLimits(agents=3, processes=1), "*": TenantLimits()}
    executor = Watching(processes=3, agents=4)

    report = run(make_fleet(plain("a", 30) + plain("b", 30), executor, tmp_path, tenants=limits))

    assert report.complete


def test_a_tenant_never_uses_more_tokens_than_it_may(tmp_path):
    limits = {"a": TenantLimits(tokens=1_000)}
    given = plain("a", 20, budget={"tokens": 300}) + plain("b", 5)

    held = run(make_fleet(given, TimedExecutor(), tmp_path, tenants=limits))

    with closing(FleetJournal(tmp_path / "state", read_only=True)) as journal:
        assert journal.used("a")[0] <= 1_000
    assert not held.complete
    assert held.counts.by_tenant["b"]["ended"] == 5
    # With a higher limit, the rest goes on.
    more = {"a": TenantLimits(tokens=100_000)}
    assert run(make_fleet(given, TimedExecutor(), tmp_path, tenants=more)).complete


def test_a_tenant_never_spends_more_money_than_it_may(tmp_path):
    class Paid(TimedExecutor):
        async def next_event(self):
            event = await super().next_event()
            # As agents do: what was reserved is spent to the last cent.
            usd = next(one for _, one in self.orders if one["number"] == event.number)["budget"]
            usage = {**event.result["usage"], "usd": usd["usd"] or 0.25}
            return event._replace(result={**event.result, "usage": usage})

    limits = {"a": TenantLimits(usd=1.0)}
    given = plain("a", 20, budget={"usd": 0.3}) + plain("b", 5)
    executor = Paid()

    held = run(make_fleet(given, executor, tmp_path, tenants=limits))

    asked = [one["budget"]["usd"] for _, one in executor.orders if '"tenant": "a"' in one["text"]]
    with closing(FleetJournal(tmp_path / "state", read_only=True)) as journal:
        assert journal.used("a")[1] == pytest.approx(1.0)
        assert journal.used("b")[1] == pytest.approx(5 * 0.25)
    # The last one gets what is left of the money, the others what they ask for.
    assert asked == pytest.approx([0.3, 0.3, 0.3, 0.1])
    assert (held.complete, held.counts.by_tenant["a"]["ended"]) == (False, 4)
    more = {"a": TenantLimits(usd=100.0)}
    assert run(make_fleet(given, Paid(), tmp_path, tenants=more)).complete


def test_a_task_that_ends_its_workers_is_unknown_and_takes_no_other_with_it(tmp_path):
    executor = TimedExecutor(processes=2, agents=4, loses={3})

    run(make_fleet(plain("a", 30), executor, tmp_path))

    with closing(FleetJournal(tmp_path / "state", read_only=True)) as journal:
        found = {one["id"]: one for one in journal.results()}
    assert len(found) == 30
    assert [id for id, one in found.items() if one["status"] == "unknown"] == ["a-2"]
    assert [order["settle"] for _, order in executor.orders if order["number"] == 3][-1]


def test_workers_that_cannot_start_are_no_fault_of_the_tasks(tmp_path):
    with pytest.raises(ProblemRaised) as raised:
        run(make_fleet(plain("a", 9), TimedExecutor(loses={1, 2, 3}, ready=False), tmp_path))

    assert raised.value.problem.code == "unavailable"
    report = run(make_fleet(plain("a", 9), TimedExecutor(), tmp_path))
    assert (report.complete, dict(report.counts.by_status)) == (True, {"done": 9})


def test_a_drained_fleet_ends_what_runs_and_goes_on_later(tmp_path):
    executor = TimedExecutor(processes=1, agents=3)
    fleet = make_fleet(plain("a", 30), executor, tmp_path)

    report = run(fleet, lambda _: fleet.drain())

    assert (report.counts.ended, report.counts.running, report.counts.waiting) == (3, 0, 27)
    assert run(make_fleet(plain("a", 30), TimedExecutor(), tmp_path)).complete


def test_stop_now_leaves_tasks_to_the_next_run(tasks):
    slow = tasks.script("slow.jsonl", [{"text": "end", "delay_s": 60}])
    path = tasks.file([tasks.task("quick"), tasks.task("slow", model=slow)])
    command = [sys.executable, "-m", "handrail", "fleet", "run", str(path), "--processes", "1"]

    with running(subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE)) as fleet:
        assert json.loads(fleet.stdout.readline())["id"] == "quick"
        assert main(["fleet", "stop", str(path), "--now"]) == 0
        code = wait_exit(fleet)

    with closing(FleetJournal(tasks.root / "tasks.jsonl.fleet", read_only=True)) as journal:
        assert (code, journal.counts().ended) == (130, 1)


def test_stop_drains_a_running_fleet(tasks, capsys):
    slow = tasks.script("slow.jsonl", [{"text": "end", "delay_s": 0.5}])
    path = tasks.file(tasks.task(f"t{n}", model=slow) for n in range(40))
    command = [sys.executable, "-m", "handrail", "fleet", "run", str(path), "--processes", "1"]

    with running(subprocess.Popen([*command, "--json"], stdout=subprocess.PIPE)) as fleet:
        assert fleet.stdout.readline()
        assert main(["fleet", "stop", str(path)]) == 0
        lines = fleet.stdout.read().splitlines()
        code = wait_exit(fleet)

    ended = json.loads(lines[-1])["tasks"]
    assert (code, ended["running"]) == (130, 0)
    assert 0 < ended["ended"] < 40
    assert main(["fleet", "stop", str(path)]) != 0


def test_a_journal_that_cannot_be_written_stops_the_fleet(tmp_path, monkeypatch):
    def fail(self, number, result, now_ns):
        with self._writing():
            raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch, pytest.raises(ProblemRaised) as raised:
        patch.setattr(FleetJournal, "end", fail)
        run(make_fleet(plain("a", 5), TimedExecutor(), tmp_path))

    assert raised.value.problem.code == "store_unavailable"
    assert run(make_fleet(plain("a", 5), TimedExecutor(), tmp_path)).complete


def test_a_torn_result_file_is_made_again(tmp_path):
    run(make_fleet(plain("a", 3), TimedExecutor(), tmp_path))
    path = tmp_path / "state" / "results.jsonl"
    path.write_text(path.read_text()[:-40])

    run(make_fleet(plain("a", 4), TimedExecutor(), tmp_path))

    assert results(tmp_path / "state")[1] == 4


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"workspace": "gone"}, "there is no directory "),
        ({"workspace": {"directory": "gone", "in_place": True}}, "there is no directory "),
        ({"workspace": {"tarball": "gone.tar"}}, "there is no archive "),
        ({"model": "script:gone.jsonl"}, "there is no script "),
        ({"model": "replay:gone.jsonl"}, "there is no replay "),
        ({"model": None}, "no model is configured"),
    ],
    ids=str,
)
def test_a_task_that_cannot_start_is_refused_before_the_others_start(tmp_path, change, says):
    last = {**plain("b", 1)[0], **change}
    path = tmp_path / "tasks.jsonl"
    lines = [*plain("a", 1), {key: value for key, value in last.items() if value is not None}]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    executor = TimedExecutor()

    with pytest.raises(ProblemRaised) as raised:
        run(make_fleet(path, executor, tmp_path))

    assert raised.value.problem.code == "invalid_arguments"
    assert raised.value.problem.message.startswith(f"{path}, line 2: {says}")
    assert executor.orders == []


def test_a_model_of_the_options_the_settings_or_the_type_of_agent_is_enough(tmp_path):
    settings = tmp_path / "settings.toml"
    settings.write_text('model = "a:b"\n')
    given = [{"id": "t", "tenant": "a", "workspace": ".", "prompt": "x"}]
    for number, options in enumerate([{"model": "a:b"}, {"config": str(settings)}]):
        state = tmp_path / str(number)
        state.mkdir()
        assert run(make_fleet(given, TimedExecutor(), state, **options)).complete

    typed = [{**given[0], "agent": "reviewer"}]
    assert run(make_fleet(typed, TimedExecutor(), tmp_path)).complete


async def test_a_run_that_was_cancelled_has_its_time(tmp_path):
    class Slow(TimedExecutor):
        async def next_event(self):
            await asyncio.sleep(LIMIT_S)

    work = asyncio.create_task(make_fleet(plain("a", 1), Slow(), tmp_path).run())
    await asyncio.sleep(0.3)
    work.cancel()
    await asyncio.wait([work])

    with closing(FleetJournal(tmp_path / "state", read_only=True)) as journal:
        seconds = [int(journal.read_meta(key)) / 1e9 for key in ("begun_ns", "ended_ns")]
    assert seconds[1] > seconds[0] + 0.1


def test_what_a_started_task_was_made_from_may_be_gone(tmp_path):
    (tmp_path / "source").mkdir()
    given = plain("a", 1, workspace=str(tmp_path / "source"))
    with pytest.raises(ProblemRaised):
        run(make_fleet(given, TimedExecutor(loses=[1], ready=False), tmp_path))
    (tmp_path / "source").rmdir()

    assert run(make_fleet(given, TimedExecutor(), tmp_path)).complete


def test_relative_places_hold_from_another_directory(tmp_path, capsys, monkeypatch):
    base, elsewhere = tmp_path / "base", tmp_path / "elsewhere"
    (base / "project").mkdir(parents=True)
    elsewhere.mkdir()
    (base / "project" / "a.txt").write_text("one\n")
    (base / "says.jsonl").write_text('{"text": "Said."}\n')
    task = {"id": "t", "workspace": "project", "prompt": "Say it", "model": "script:says.jsonl"}
    (base / "tasks.jsonl").write_text(json.dumps({**task, "checks": ["test -e a.txt"]}) + "\n")
    monkeypatch.chdir(elsewhere)

    code = main(["fleet", "run", "../base/tasks.jsonl", "--mode", "sandboxed", "--processes", "1"])

    result = json.loads((base / "tasks.jsonl.fleet" / "results.jsonl").read_text())
    assert (code, result["status"], result["text"]) == (0, "done", "Said."), capsys.readouterr()


def test_the_report_page_is_escaped_and_self_contained(tmp_path, capsys):
    class Hostile(TimedExecutor):
        async def next_event(self):
            event = await super().next_event()
            bad = "<script>alert(1)</script>\x1b[31m"
            return event._replace(result={**event.result, "text": bad, "unknown_calls": [bad]})

    run(make_fleet(plain("a", 2), Hostile(), tmp_path))
    page, state = tmp_path / "report.html", str(tmp_path / "state")

    assert main(["fleet", "report", "--state", state, "--html", str(page)]) == 0

    text = page.read_text()
    assert "<script" not in text and "\x1b" not in text
    assert "&lt;script&gt;" in text
    assert "src=" not in text and "href=" not in text
    assert main(["fleet", "report", "--state", state, "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["tasks"]["ended"] == 2


def test_a_shared_workspace_has_one_task_at_a_time_in_one_worker():
    placement = WorkerPlacement(2, 4)
    first = placement.choose("w", "a")
    placement.add(first, 1, "w", "a")

    assert placement.choose("w", "a") is None
    placement.remove(1)
    other = 1 - first
    placement.add(first, 2, "", "a")
    assert placement.choose("w", "a") == first
    assert placement.choose("", "a") == other


def test_tenants_get_workers_of_their_own_where_there_are_enough():
    placement = WorkerPlacement(2, 4)
    for number in range(8):
        tenant = "ab"[number % 2]
        placement.add(placement.choose("", tenant), number, "", tenant)

    assert [set(load.values()) for load in placement._loads] == [{"a"}, {"b"}]
