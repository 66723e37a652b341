"""What is granted is decided by inode, whatever names lead where when the rules are made."""

import pytest
from tests.support.handles import open_handles
from tests.support.scenes import scenery

from handrail.core.problems import ProblemRaised
from handrail.host.sandbox.backends.landlock_grants import (
    AccessRight,
    GrantSet,
    inode_chain,
    inode_key,
)
from handrail.host.sandbox.probe import fixture
from handrail.host.sandbox.recipe import LandlockRules


@pytest.fixture
def root(tmp_path):
    top = tmp_path / "ws"
    for name in ("one/.env", "one/plain", "two/plain", "top.env"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text("SECRET" if "env" in name else "seen")
    return top


def told(scene, root, command, change, withheld):
    """What a command that only looks prints if something changes before it starts."""
    launch = scene.launch(command, writable=(), denied_reads=[str(root / one) for one in withheld])
    recipe = scene.sandbox.recipe(launch)
    change()
    done = fixture.run_probe_program(recipe, deadline_s=30)
    return done.stdout.decode()


@pytest.mark.needs_landlock
@pytest.mark.finding("F03")
def test_folders_that_are_exchanged_open_nothing(root):
    def exchange():
        (root / "two").rename(root / "three")
        (root / "one").rename(root / "two")
        (root / "three").rename(root / "one")

    with scenery("landlock", [root]) as scene:
        printed = told(scene, root, "cat */.env */plain top.env", exchange, ["one/.env", "top.env"])

    assert printed == "seenseen"


@pytest.mark.needs_landlock
@pytest.mark.finding("F03")
@pytest.mark.parametrize("name", ["two", "two/plain"])
def test_a_link_that_is_put_in_place_of_a_name_opens_nothing(root, name):
    def replace():
        (root / name).rename(root / "aside")
        (root / name).symlink_to(root / ("one" if name == "two" else "one/.env"))

    with scenery("landlock", [root]) as scene:
        command = "cat two/.env two/plain one/plain"
        printed = told(scene, root, command, replace, ["one/.env", "two/nothing", "top.env"][::2])

    assert "SECRET" not in printed
    assert "seen" in printed


@pytest.mark.needs_landlock
@pytest.mark.finding("F03")
def test_a_withheld_file_that_gets_another_name_stays_closed(root):
    def rename():
        (root / "top.env").rename(root / "top.txt")

    with scenery("landlock", [root]) as scene:
        printed = told(scene, root, "cat top.txt one/plain", rename, ["top.env"])

    assert printed == "seen"


@pytest.mark.needs_landlock
@pytest.mark.finding("F03")
def test_nothing_starts_if_a_withheld_file_has_gone_before_its_inode_was_known(root):
    with scenery("landlock", [root]) as scene:
        launch = scene.launch("true", writable=(), denied_reads=[str(root / "gone")])
        with pytest.raises(ProblemRaised) as refused:
            scene.sandbox.recipe(launch)

    assert (refused.value.problem.code, refused.value.problem.retryable) == ("stale", True)


def test_folders_on_the_way_are_granted_entry_by_entry(root):
    chain = inode_chain(str(root / "one/.env"))
    rules = LandlockRules(
        (str(root),), (), network=False, denied=(chain[-1],), denied_parents=tuple(chain[:-1]),
        listable=(chain[-2],),
    )  # fmt: skip
    (root / "link").symlink_to("one/.env")
    before = open_handles()

    grants = GrantSet(rules)
    granted = {(right, inode) for right, inode in grants.inodes}
    grants.close()

    def key(name):
        return inode_key((root / name).stat())

    assert granted == {
        (AccessRight.READ, key("one/plain")),
        (AccessRight.READ, key("two")),
        (AccessRight.READ, key("top.env")),
        (AccessRight.LIST, key("one")),
    }
    assert open_handles() - before == set()


@pytest.mark.parametrize("path", ["missing", "link/plain"])
def test_a_way_through_a_link_or_nothing_has_no_inodes(root, path):
    (root / "link").symlink_to("one")

    with pytest.raises(OSError, match=r"No such file|symbolic link|Not a directory"):
        inode_chain(str(root / path))
