"""Holding for commands what rules close: promised only where it can be, kept or refused."""

import os

import pytest
from tests.policy.rule_support import CommandClass, command

from handrail.core.ports.processes import Confinement, Strength
from handrail.core.problems import ProblemRaised
from handrail.policy.denials.write_denials import PathProbe, WriteDenialEnforcer, WriteDenials

LOOKING = command("git log", safety_class=CommandClass.SAFE).command
WRITING = command("make", open_ended=True).command
FREE = command("make", open_ended=True, unconfined=True).command


class Mounting:
    """A sandbox that holds what exists, unless told otherwise."""

    backend = "some"

    def __init__(self, strength=Strength.ENFORCED):
        self.measured = {"fs_write": strength}
        self.limit = 10

    def enforced_read_only(self, confinement):
        return confinement.read_only[: self.limit]


@pytest.fixture
def world(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a").touch()
    root = str(tmp_path)
    paths = {f"{root}/deep/a": "deny write_file(deep/a)", "/srv/x": "deny write_file(//srv/x)"}
    denials = WriteDenials(paths, lambda analysis: True)
    probe = PathProbe(os.path.lexists, os.listdir)
    return WriteDenialEnforcer(denials, Mounting(), (root,), probe)


def confinement(world):
    return Confinement(world.roots)


def test_the_promise_is_what_the_sandbox_holds(world):
    assert world.read_only_paths(WRITING) == frozenset(world.denials.paths)
    assert world.read_only_paths(LOOKING) is None
    assert world.read_only_paths(FREE) == frozenset()

    world.sandbox.limit = 0
    assert world.read_only_paths(WRITING) == {"/srv/x"}

    world.sandbox.measured["fs_write"] = Strength.ABSENT
    assert world.read_only_paths(LOOKING) == frozenset()


def test_what_is_promised_is_held_with_the_folders_above(world):
    root = world.roots[0]

    held = world.enforce(confinement(world), WRITING, approved=False)

    assert held.read_only == (f"{root}/deep/a",)
    assert held.writable == (root, f"{root}/deep")
    assert dict(held.ruled) == world.denials.paths


def test_a_promise_that_fails_refuses_the_command_and_the_next_is_asked_about(world):
    path = f"{world.roots[0]}/deep/a"
    assert path in world.read_only_paths(WRITING)
    world.sandbox.limit = 0

    with pytest.raises(ProblemRaised, match="deny write_file") as raised:
        world.enforce(confinement(world), WRITING, approved=True)

    assert raised.value.problem.code == "denied"
    # Only among all that is held for a command does it show that there is too much.
    world.sandbox.limit = 10
    assert path not in world.read_only_paths(WRITING)
    world.sandbox.limit = 0
    assert world.enforce(confinement(world), WRITING, approved=True)
    with pytest.raises(ProblemRaised):
        world.enforce(confinement(world), WRITING, approved=False)


def test_a_command_that_writes_nothing_of_it_runs_whatever_can_be_held(world):
    world.denials = world.denials._replace(may_affect=lambda analysis: False)
    world.sandbox.limit = 0

    assert world.enforce(confinement(world), WRITING, approved=False).ruled == (
        ("/srv/x", "deny write_file(//srv/x)"),
    )


def test_outside_the_sandbox_nothing_is_changed(world):
    off = confinement(world)._replace(off=True)

    assert world.enforce(off, FREE, approved=True) is off
    assert world.enforce_if_possible(off) is off


@pytest.mark.parametrize("variant", ["deep/A", "Deep/other"])
def test_a_path_that_also_exists_in_other_letter_case_is_not_promised(world, tmp_path, variant):
    (tmp_path / variant).parent.mkdir(exist_ok=True)
    (tmp_path / variant).touch()

    assert world.read_only_paths(WRITING) == {"/srv/x"}


def test_other_names_beside_a_path_change_nothing(world, tmp_path):
    (tmp_path / "deep" / "ab").touch()
    (tmp_path.parent / tmp_path.name.upper()).mkdir()

    assert world.read_only_paths(WRITING) == frozenset(world.denials.paths)


def test_a_path_whose_folder_cannot_be_listed_is_not_promised(world):
    def fail(folder):
        raise PermissionError(folder)

    world.probe = world.probe._replace(list_names=fail)

    assert world.read_only_paths(WRITING) == {"/srv/x"}


def test_only_denied_paths_inside_the_roots_that_do_not_exist_are_missing(world, tmp_path):
    assert world.missing_paths(WRITING) == frozenset()

    (tmp_path / "deep" / "a").unlink()
    assert world.missing_paths(WRITING) == {f"{tmp_path}/deep/a"}
    assert world.missing_paths(FREE) == frozenset()
