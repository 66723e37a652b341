"""Rules that were made before serve again, but never for what they were not made for."""

import threading

import pytest
from tests.support.waiting import join_threads

from handrail.host.processes import landlock
from handrail.host.sandbox.backends.apply import RulesetCache
from handrail.host.sandbox.backends.landlock_grants import GrantSet, inode_chain
from handrail.host.sandbox.recipe import LandlockRules


class Counted(RulesetCache):
    """Counts the rulesets that it makes, and takes no note of what others mount meanwhile."""

    count = 0

    def _make(self, *given):
        self.count += 1
        return super()._make(*given)

    def _mounted(self):
        return False


@pytest.fixture
def rulesets():
    return Counted()


def confined(rulesets, rules, *attempts):
    """What each attempt comes to on a thread that was left only these rules."""
    results = []

    def work():
        assert rulesets.enter(rules)
        for attempt in attempts:
            try:
                attempt()
            except OSError as error:
                results.append(error.strerror)
            else:
                results.append("done")

    thread = threading.Thread(target=work)
    thread.start()
    join_threads(thread)
    return results


def rules_for(folder, **changes):
    return LandlockRules((f"{folder}/read",), (f"{folder}/write",), network=False)._replace(
        **changes
    )


@pytest.fixture
def folder(tmp_path):
    for name in ("read", "write", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    return tmp_path


NO = "Permission denied"


@pytest.mark.needs_landlock
def test_the_same_rules_are_made_once_and_hold_every_time(rulesets, folder):
    attempts = (
        (folder / "read/file").read_text,
        (folder / "write/file").unlink,
        (folder / "other/file").read_text,
    )

    for _ in range(3):
        (folder / "write/file").write_text("again")
        assert confined(rulesets, rules_for(folder), *attempts) == ["done", "done", NO]
    assert rulesets.count == 1


@pytest.mark.needs_landlock
def test_other_rules_are_made_for_themselves(rulesets, folder):
    look = (folder / "other/file").read_text
    wider = rules_for(folder, read=(f"{folder}/read", f"{folder}/other"))

    assert confined(rulesets, rules_for(folder), look) == [NO]
    assert confined(rulesets, wider, look) == ["done"]
    assert confined(rulesets, rules_for(folder), look) == [NO]
    assert rulesets.count == 3


@pytest.mark.needs_landlock
def test_a_folder_that_took_the_place_of_another_is_granted_in_its_stead(rulesets, folder):
    look = (folder / "read/file").read_text
    assert confined(rulesets, rules_for(folder), look) == ["done"]

    (folder / "read").rename(folder / "gone")
    (folder / "other").rename(folder / "read")

    assert confined(rulesets, rules_for(folder), look) == ["done"]
    assert confined(rulesets, rules_for(folder), (folder / "gone/file").read_text) == [NO]
    assert rulesets.count == 2


@pytest.mark.needs_landlock
def test_a_place_that_comes_or_goes_is_seen(rulesets, folder):
    rules = rules_for(folder, read=(f"{folder}/later",))
    look = (folder / "later/file").read_text
    assert confined(rulesets, rules, look) == ["No such file or directory"]

    (folder / "other").rename(folder / "later")
    assert confined(rulesets, rules, look) == ["done"]

    (folder / "later").rename(folder / "other")
    assert confined(rulesets, rules, (folder / "other/file").read_text) == [NO]


@pytest.mark.needs_landlock
def test_a_writable_place_that_became_a_link_grants_nothing_of_what_it_leads_to(rulesets, folder):
    write = (folder / "other/file").unlink
    assert confined(rulesets, rules_for(folder), write) == [NO]

    (folder / "write").rename(folder / "moved")
    (folder / "write").symlink_to(folder / "other")

    assert confined(rulesets, rules_for(folder), write) == [NO]
    assert rulesets.count == 2


@pytest.mark.needs_landlock
def test_rules_the_kernel_refuses_are_not_kept(rulesets, folder, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(landlock, "_add_rule", lambda *_: False)
        assert not rulesets.enter(rules_for(folder))

    assert confined(rulesets, rules_for(folder), (folder / "other/file").read_text) == [NO]


@pytest.mark.needs_landlock
def test_a_mount_makes_the_rules_anew(folder):
    class News:
        """Stands in for the kernel, that tells of a mount or an unmount once."""

        def __init__(self):
            self.waiting = [[(3, 2)], []]

        def poll(self, timeout_ms):
            assert timeout_ms == 0
            return self.waiting.pop(0)

    class Told(Counted):
        _mounted = RulesetCache._mounted

    rulesets = Told()
    confined(rulesets, rules_for(folder))
    rulesets._mounts = News()

    counts = []
    for _ in range(2):
        confined(rulesets, rules_for(folder))
        counts.append(rulesets.count)
    assert counts == [2, 2]


@pytest.fixture
def way(folder):
    """Rules with a directory that is granted entry by entry, because one of them is closed."""
    (folder / "read" / "hidden").write_text("hidden")
    chain = inode_chain(str(folder / "read" / "hidden"))
    return rules_for(folder, denied=(chain[-1],), denied_parents=tuple(chain[:-1]))


@pytest.mark.needs_landlock
def test_entries_are_opened_once_while_their_directory_is_listed_alike(
    rulesets, folder, way, monkeypatch
):
    opened = []
    monkeypatch.setattr(
        "handrail.host.sandbox.backends.apply.GrantSet",
        lambda *given: opened.append(given) or GrantSet(*given),
    )
    attempts = [(folder / "read" / name).read_text for name in ("file", "hidden")]

    for _ in range(3):
        assert confined(rulesets, way, *attempts) == ["done", NO]

    assert len(opened) == 1


@pytest.mark.needs_landlock
def test_an_entry_that_came_or_took_the_place_of_another_is_granted(rulesets, folder, way):
    assert confined(rulesets, way, (folder / "read/file").read_text) == ["done"]
    (folder / "read" / "new").write_text("new")
    (folder / "other" / "file").rename(folder / "read" / "file")

    attempts = [(folder / "read" / name).read_text for name in ("file", "new", "hidden")]

    assert confined(rulesets, way, *attempts) == ["done", "done", NO]
    assert rulesets.count == 2


@pytest.mark.needs_landlock
def test_a_directory_that_took_the_place_of_one_on_the_way_is_compared(rulesets, folder):
    (folder / "read" / "in").mkdir()
    (folder / "read" / "in" / "hidden").write_text("hidden")
    (folder / "read" / "in" / "file").write_text("file")
    chain = inode_chain(str(folder / "read" / "in" / "hidden"))
    rules = rules_for(folder, denied=(chain[-1],), denied_parents=tuple(chain[:-1]))
    assert confined(rulesets, rules, (folder / "read/in/file").read_text) == ["done"]

    (folder / "read" / "in").rename(folder / "gone")
    (folder / "other").rename(folder / "read" / "in")

    assert confined(rulesets, rules, (folder / "read/in/file").read_text) == ["done"]
    assert confined(rulesets, rules, (folder / "gone/file").read_text) == [NO]
    assert rulesets.count == 2


class CountedWithMounts(Counted):
    """Counts, and watches mounts as the cache itself does."""

    _mounted = RulesetCache._mounted


@pytest.mark.needs_landlock
def test_rules_are_made_each_time_where_mounts_cannot_be_watched(folder, monkeypatch):
    monkeypatch.setattr("handrail.host.sandbox.backends.apply._MOUNTS", str(folder / "missing"))
    rulesets = CountedWithMounts()

    for _ in range(2):
        assert confined(rulesets, rules_for(folder), (folder / "read/file").read_text) == ["done"]

    assert rulesets.count == 2
