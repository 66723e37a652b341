"""The attacks of the probe by themselves: without a confinement each of them succeeds."""

import errno
import os

import pytest

from handrail.host.sandbox.probe import probe_child

# What only newer kernels, or not all file systems, have.
UNKNOWN = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTTY)
WHERE = "shown"


@pytest.fixture
def given(tmp_path):
    """A directory with a file whose attributes are attacked, and a writable one."""
    for name in (WHERE, "workspace"):
        (tmp_path / name).mkdir()
    (tmp_path / WHERE / "attributes").write_text("probe", "ascii")
    return {name: str(tmp_path / name) for name in (WHERE, "workspace")}


def failed(attempts):
    """The attacks that fail although this machine knows their system call."""
    found = {}
    for name, attempt in attempts.items():
        try:
            if attempt() is False:
                found[name] = "no effect"
        except OSError as error:
            if error.errno not in UNKNOWN:
                found[name] = error.strerror
    return found


def test_every_attribute_can_be_changed_where_nothing_confines(given):
    file = f"{given[WHERE]}/attributes"
    attempts = probe_child._metadata(WHERE, given)
    removing = attempts.pop("meta_removexattrat_shown")
    # Succeeds only now and then.
    del attempts["meta_race_shown"]

    def remove():
        # The other attacks have set and removed it.
        os.setxattr(file, "user.probe", b"1")
        removing()

    assert failed({**attempts, "remove": remove}) == {}


def test_denied_content_is_read_under_every_name(tmp_path):
    way = tmp_path / WHERE / "way"
    (way / "closed").mkdir(parents=True)
    (tmp_path / "workspace").mkdir()
    for name in ("withheld", "closed/secret"):
        (way / name).write_text("withheld", "ascii")
    given = {name: str(tmp_path / name) for name in (WHERE, "workspace")}
    attempts = probe_child._hiding(WHERE, given)

    ways = ("read", "folder", "root", "link")

    assert failed({name: attempts[f"hide_shown_{name}"] for name in ways}) == {}
    (way / "withheld").write_text("", "ascii")
    assert failed({"read": attempts["hide_shown_read"]}) == {"read": "no effect"}
