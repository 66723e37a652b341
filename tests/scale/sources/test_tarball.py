"""Archives: what is extracted, and what is refused before it is read."""

import bz2
import gzip
import io
import lzma
import os
import tarfile

import pytest

from handrail.core.problems import ProblemRaised
from handrail.scale.sources.tarball import extract_tarball
from handrail.scale.sources.tree_writer import TreeLimits, TreeWriter

WIDE = TreeLimits(10_000_000, 100)
PACKERS = {"tar": bytes, "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


def member(name, data=b"", kind=tarfile.REGTYPE, **more):
    info = tarfile.TarInfo(name)
    info.type, info.size, info.mode = kind, len(data), 0o644
    for key, value in more.items():
        setattr(info, key, value)
    return info, data


def archive(*members, format=tarfile.PAX_FORMAT):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=format) as tar:
        for info, data in members:
            tar.addfile(info, io.BytesIO(data))
    return made.getvalue()


@pytest.fixture
def extract(tmp_path):
    root = tmp_path / "root"
    root.mkdir()

    def run(data, limits=WIDE):
        path = tmp_path / "archive"
        path.write_bytes(data)
        extract_tarball(str(path), TreeWriter(root, limits, "archive"))
        return root

    return run


def code(action, *arguments):
    with pytest.raises(ProblemRaised) as raised:
        action(*arguments)
    return raised.value.problem.code


@pytest.mark.parametrize("packer", PACKERS)
def test_files_directories_and_links_are_extracted(extract, packer):
    data = archive(
        member("d", kind=tarfile.DIRTYPE),
        member("d/a", b"x" * 200_000),
        member("run", b"y", mode=0o755),
        member("again", kind=tarfile.LNKTYPE, linkname="d/a"),
        member("link", kind=tarfile.SYMTYPE, linkname="d/a"),
        member("n" * 200, b"long"),
    )
    root = extract(PACKERS[packer](data))

    assert (root / "d/a").read_bytes() == b"x" * 200_000
    assert (root / "again").read_bytes() == b"x" * 200_000
    assert os.readlink(root / "link") == "d/a"
    assert (root / ("n" * 200)).read_bytes() == b"long"
    assert os.access(root / "run", os.X_OK)
    assert not os.access(root / "d/a", os.X_OK)


def test_several_streams_of_xz_are_one(extract):
    data = archive(member("a", b"x" * 100_000), member("b", os.urandom(300_000)))
    half = len(data) // 2
    packed = lzma.compress(data[:half]) + bytes(8) + lzma.compress(data[half:])

    assert sorted(one.name for one in extract(packed).iterdir()) == ["a", "b"]


@pytest.mark.parametrize(
    "one",
    [
        member("../a"),
        member("/a"),
        member("a", kind=tarfile.SYMTYPE, linkname="/etc/passwd"),
        member("a", kind=tarfile.LNKTYPE, linkname="missing"),
        member("a", kind=tarfile.CHRTYPE),
        member("a", kind=tarfile.FIFOTYPE),
    ],
)
def test_what_leads_out_or_is_a_device_is_refused(extract, one):
    assert code(extract, archive(one)) == "untrusted"


@pytest.mark.parametrize("packer", PACKERS)
def test_an_archive_that_ends_early_is_a_problem(extract, packer):
    data = PACKERS[packer](archive(member("a", os.urandom(100_000))))

    assert code(extract, data[: len(data) // 2]) == "unavailable"


def test_what_is_no_archive_is_a_problem(extract, tmp_path):
    writer = TreeWriter(tmp_path, TreeLimits(1, 1), "x")

    assert code(extract, b"hello " * 200) == "unavailable"
    assert code(extract_tarball, str(tmp_path / "missing"), writer) == "not_found"
    assert code(extract_tarball, str(tmp_path), writer) == "unavailable"
    os.mkfifo(tmp_path / "pipe")
    assert code(extract_tarball, str(tmp_path / "pipe"), writer) == "unavailable"


def test_limits_hold(extract):
    data = archive(member("a", b"x" * 100), member("b", b"x" * 100))

    assert code(extract, data, TreeLimits(199, 9)) == "too_large"


def test_the_number_of_entries_is_limited(extract):
    data = archive(member("a"), member("b"))

    assert code(extract, data, TreeLimits(9, 1)) == "too_large"


def test_very_long_headers_are_refused(extract):
    long = member("a", pax_headers={"comment": "x" * (1 << 20)})

    assert code(extract, archive(long)) == "unavailable"
    assert extract(archive(member("b", pax_headers={"comment": "x" * 100_000})))
