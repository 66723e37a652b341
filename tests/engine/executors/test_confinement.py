"""What a program may reach, from the command and the denials."""

from types import SimpleNamespace

import pytest

from handrail.core.ports.processes import Confinement, NameRepair, Strength
from handrail.core.problems import ProblemRaised
from handrail.engine import messages
from handrail.engine.executors import confinement as module
from handrail.engine.executors.confinement import (
    CommandConfinement,
    CommandPaths,
    DenialEnforcers,
    ProtectedNamesGuard,
    tampering_text,
)

PATHS = CommandPaths(("/place",), ("*.lock",), (".git/**",), ("/state",), ("/hidden",))


def analysis(*, unconfined=False, writes=(), git=False):
    return SimpleNamespace(
        unconfined=unconfined, effects=SimpleNamespace(writes=writes, git=git, needs_network=False)
    )


def confining(*, reads=None, secrets=None, network=False):
    return CommandConfinement(
        PATHS, None, lambda path: True, network, denials=DenialEnforcers(reads, None, secrets)
    )


class ReadDenials:
    """Hides one path, if it can be seen with this confinement."""

    def hidden_paths(self, confinement, analysis, *, approved):
        assert confinement == Confinement((), ("/state",), ("/hidden",))
        return () if approved else ("/place/denied",)


class Secrets:
    """Hides one file with a secret."""

    def hide(self, confinement):
        return confinement._replace(hidden=(*confinement.hidden, "/place/.env"))


@pytest.mark.parametrize("network", [False, True])
async def test_a_command_that_reads_can_write_nothing_and_has_no_network(network):
    found = await confining(network=network).for_reading(analysis(), approved=False)

    assert found == Confinement((), ("/state",), ("/hidden",), False)


async def test_a_server_is_confined_as_a_command_that_reads():
    found = await confining().for_server(analysis(), approved=False)

    assert found == Confinement((), ("/state",), ("/hidden",))


async def test_a_server_sees_no_secrets():
    found = await confining(secrets=Secrets()).for_server(analysis(), approved=False)

    assert found == Confinement((), ("/state",), ("/hidden", "/place/.env"))


@pytest.mark.parametrize(
    ("approved", "unconfined", "denied"),
    [(False, False, ("/place/denied",)), (True, False, ()), (False, True, ())],
)
async def test_denied_paths_are_hidden_from_a_server(approved, unconfined, denied):
    confinement = confining(reads=ReadDenials())

    found = await confinement.for_server(analysis(unconfined=unconfined), approved=approved)

    assert found.denied_reads == denied


@pytest.mark.parametrize(
    ("approved", "writes", "git", "allowed"),
    [
        (False, ("/place/a",), True, ("*.lock",)),
        (True, (), False, ("*.lock",)),
        (True, ("/place/a", "/place/d/", "/elsewhere/b", "/places/c"), False, ("*.lock", "a", "d")),
        (True, ("/place/a",), True, ("*.lock", "a", ".git/**")),
    ],
)
def test_protected_names_that_an_approved_command_may_change(approved, writes, git, allowed):
    asked = analysis(writes=writes, git=git)

    assert confining().allowed_protected(asked, approved=approved) == allowed


class LocalSandbox:
    """A sandbox that was measured; it copies roots unless there is no `copy`."""

    backend = "fake"

    def __init__(self, fs_write=Strength.ENFORCED, copy=None):
        self.measured = {"fs_write": fs_write}
        self.copy = copy

    def copy_roots(self, confinement):
        return self.copy or "no room"


def call(*, approved=False, writes_nothing=False, leases=(), confinement=None, job=False):
    """The state of a call, as far as its confinement depends on it."""
    notes = []
    session = SimpleNamespace(
        secrets_shown=False, noted=notes, note_secrets=lambda: notes.append("secrets")
    )
    return SimpleNamespace(
        clearance=SimpleNamespace(binding="b" if approved else None),
        prepared=SimpleNamespace(
            scope=SimpleNamespace(writes_nothing=writes_nothing),
            call=SimpleNamespace(agent="reader"),
            footprint=SimpleNamespace(starts_job=job),
        ),
        effects=SimpleNamespace(foreign_leases=leases),
        context=SimpleNamespace(session=session, confinement=confinement),
    )


def command(*, needs_network=False, unconfined=False, sees_no_secrets=False):
    effects = SimpleNamespace(
        needs_network=needs_network, reads=(), writes=(), to_dict=lambda: {"effects": 1}
    )
    return SimpleNamespace(
        unconfined=unconfined,
        effects=effects,
        parts=(),
        sees_no_secrets=sees_no_secrets,
        safety_class=SimpleNamespace(word="write"),
    )


def writing(sandbox=None, *, network=False, hosts=(), secrets=None):
    denials = DenialEnforcers(secrets=secrets)
    sandbox = sandbox or LocalSandbox()
    return CommandConfinement(PATHS, sandbox, lambda path: True, network, hosts, denials)


@pytest.mark.parametrize(
    ("approved", "needs", "always", "hosts", "network"),
    [
        (False, True, False, (), False),
        (True, True, False, (), True),
        (True, False, False, (), False),
        (True, True, False, ("a.example",), False),
        (False, False, True, (), True),
    ],
)
async def test_an_approved_command_that_needs_the_network_has_it(
    approved, needs, always, hosts, network
):
    found = await writing(network=always, hosts=hosts).for_writing(
        call(approved=approved), command(needs_network=needs), ("/place/.git",)
    )

    assert found == Confinement(
        ("/place",), ("/place/.git", "/state"), ("/hidden",), network, hosts=hosts
    )


async def test_a_command_outside_the_sandbox_is_not_confined():
    found = await writing().for_writing(call(), command(unconfined=True), ("/place/.git",))

    assert found == Confinement(("/place",), network=True, off=True)


@pytest.mark.parametrize(
    ("strength", "unconfined", "refused"),
    [
        (Strength.ENFORCED, False, False),
        (Strength.PARTIAL, False, False),
        (Strength.ABSENT, False, True),
        (Strength.ENFORCED, True, True),
    ],
)
async def test_an_agent_that_writes_nothing_has_nothing_writable(strength, unconfined, refused):
    confinement, asked = writing(LocalSandbox(strength)), command(unconfined=unconfined)
    state = call(writes_nothing=True)

    if refused:
        with pytest.raises(ProblemRaised, match="reader") as raised:
            await confinement.for_writing(state, asked, ())
        assert raised.value.problem.code == "denied"
    else:
        assert (await confinement.for_writing(state, asked, ())).writable == ()


async def test_what_others_have_leased_is_protected(monkeypatch):
    given = []
    monkeypatch.setattr(
        module, "protect_leased_paths", lambda *args: given.append(args) or "protected"
    )
    confinement = writing()

    found = await confinement.for_writing(call(leases=("lease",)), command(), ())

    assert found == "protected"
    assert given[0][1:] == (("lease",), confinement.sandbox, ("/place",), confinement.exists)


@pytest.mark.parametrize(
    ("strength", "unconfined", "enforced"),
    [
        (Strength.ENFORCED, False, True),
        (Strength.REPAIRED, False, True),
        (Strength.PARTIAL, False, False),
        (Strength.ABSENT, False, False),
        (Strength.ENFORCED, True, False),
    ],
)
def test_the_record_says_how_a_command_is_confined(strength, unconfined, enforced):
    confinement, asked = writing(LocalSandbox(strength)), command(unconfined=unconfined)

    assert confinement.is_enforced(asked) is enforced
    measured = {} if unconfined else {"fs_write": strength}
    assert confinement.describe(asked) == {
        "class": "write",
        "effects": {"effects": 1},
        "sandbox": {"backend": "none" if unconfined else "fake", "measured": measured},
    }


def test_without_denials_nothing_is_hidden_or_unwritable():
    confinement = writing()

    assert not confinement.hides(command())
    assert confinement.unwritable(command()) == confinement.absent(command()) == frozenset()


async def test_a_private_copy_lasts_as_long_as_the_block():
    closed = []
    copy = SimpleNamespace(copies=("copy",), close=lambda: closed.append(True))
    state = call(confinement=Confinement(("/place",)))

    async with writing(LocalSandbox(copy=copy)).private_roots(state) as note:
        assert (note, closed) == (messages.RAN_ON_A_COPY, [])
        assert state.context.confinement == Confinement(("/place",), copies=("copy",))

    assert closed == [True]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"confinement": Confinement(("/place",))}, "no room"),
        ({"confinement": Confinement(("/place",)), "job": True}, "it runs on"),
        ({}, "it runs on"),
    ],
)
async def test_without_a_private_copy_the_workspace_is_read_only(given, reason):
    state = call(**given)

    async with writing().private_roots(state) as note:
        assert reason in note
        assert state.context.confinement == given.get("confinement")


class Exposure(Secrets):
    """Says what a command may show: by its text, or by looking at files."""

    def __init__(self, by_text, by_files=False):
        self.by_text, self.by_files = by_text, by_files

    def may_show_by_text(self, analysis):
        return self.by_text

    def may_show(self, analysis, confinement):
        return self.by_files


@pytest.mark.parametrize(
    ("exposure", "noted"),
    [
        (None, True),
        (Exposure(True), True),
        (Exposure(False, True), False),
        (Exposure(None, True), True),
        (Exposure(None, False), False),
    ],
)
async def test_a_command_that_may_show_secrets_is_noted(exposure, noted):
    state = call(confinement=Confinement(()))

    await writing(secrets=exposure).check_secrets(state, command())

    assert state.context.session.noted == (["secrets"] if noted else [])
    assert state.context.confinement == Confinement(())


async def test_without_a_confinement_every_command_may_show_secrets():
    state = call()

    await writing(secrets=Exposure(False)).check_secrets(state, command())

    assert state.context.session.noted == ["secrets"]


async def test_secrets_are_hidden_from_a_program_that_must_not_see_any():
    state = call(confinement=Confinement(()))

    await writing(secrets=Exposure(True)).check_secrets(state, command(sees_no_secrets=True))

    assert state.context.session.noted == []
    assert state.context.confinement == Confinement((), hidden=("/place/.env",))


class GuardedNames:
    """Protected names, all of which a job has changed."""

    def __init__(self):
        self.taken, self.left = [], []

    def take(self, **options):
        self.taken.append(options)
        return "snapshot"

    def repair(self, snapshot, *, held):
        return (NameRepair(f"{snapshot}{len(held)}", "changed"),)

    def leave(self, snapshot, absolute):
        self.left.append((snapshot, absolute))


async def test_what_jobs_changed_is_repaired_once_and_reported_once():
    names = GuardedNames()
    guard = ProtectedNamesGuard(names)
    assert await guard.job_snapshot(["a"]) == "snapshot"
    guard.watch_jobs("before", started=True)
    guard.watch_jobs("later", started=False)
    assert guard.has_jobs

    await guard.repair_after_jobs()
    await guard.repair_after_jobs()

    assert guard.pop_job_tampering() == (NameRepair("later0", "changed"),)
    assert guard.pop_job_tampering() == ()
    assert names.taken == [
        {"lifted": ["a"], "git_writable": True, "sequences": True, "repositories": False}
    ]


async def test_a_repair_is_logged_with_who_made_it_necessary(caplog):
    guard = ProtectedNamesGuard(GuardedNames())

    await guard.repair("x", None)
    assert caplog.messages == []
    assert await guard.repair("x", "a command", ["held"]) == (NameRepair("x1", "changed"),)

    (told,) = caplog.messages
    assert told.startswith("a command changed")


def test_committed_plans_are_no_doing_of_jobs():
    names = GuardedNames()
    guard = ProtectedNamesGuard(names)
    change = SimpleNamespace(place=SimpleNamespace(absolute="/place/a"))
    plan = SimpleNamespace(changes=[change])

    guard.accept_plan(plan)
    guard.watch_jobs("before", started=False)
    guard.accept_plan(plan)

    assert names.left == [("before", "/place/a")]
    assert not guard.has_jobs


@pytest.mark.parametrize(("count", "more"), [(1, False), (10, False), (11, True)])
def test_a_limited_number_of_repairs_is_listed(count, more):
    text = tampering_text([NameRepair(f"n{number}", "changed") for number in range(count)])

    assert text.count("(changed)") == min(count, 10)
    assert text.endswith(" and 1 more") is more


def test_a_repair_is_described_with_what_is_left_of_it():
    whole = tampering_text([NameRepair("a", "removed")])
    partly = tampering_text([NameRepair("a", "replaced", "/kept", restored=False)])

    assert whole.endswith(": a (removed)")
    assert ": a (replaced, NOT restored" in partly
    assert partly.endswith(", its version kept as /kept)")
