"""The output of a job on disk, written by one and read by another."""

from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.host.supervisor import job_records
from handrail.host.supervisor.job_records import (
    LAST_SEGMENTS,
    SEGMENT_BYTES,
    JobOutputPart,
    JobOutputWriter,
)


def test_what_was_written_is_read_across_pieces(tmp_path):
    writer = JobOutputWriter(tmp_path)
    text = bytes(range(256)) * (3 * SEGMENT_BYTES // 256)

    writer.take(memoryview(text[:5]))
    writer.take(memoryview(text[5:]))
    writer.close()

    assert job_records.read_output(tmp_path, 0, len(text)) == JobOutputPart(text, len(text), 0)
    start = SEGMENT_BYTES - 3
    assert job_records.read_output(tmp_path, start, 6) == JobOutputPart(
        text[start : start + 6], start + 6, 0
    )


def test_the_first_piece_and_the_last_ones_stay(tmp_path):
    writer = JobOutputWriter(tmp_path)

    for number in range(LAST_SEGMENTS + 5):
        writer.take(memoryview(bytes([number]) * SEGMENT_BYTES))
    writer.close()

    assert len(list(tmp_path.iterdir())) == 1 + LAST_SEGMENTS
    gap = job_records.read_output(tmp_path, SEGMENT_BYTES + 7, 2)
    assert gap == JobOutputPart(b"\5\5", 5 * SEGMENT_BYTES + 2, 4 * SEGMENT_BYTES - 7)
    # A reader that comes from the start stops at the gap, and is told of it next time.
    head = job_records.read_output(tmp_path, 0, 3 * SEGMENT_BYTES)
    assert head == JobOutputPart(bytes(SEGMENT_BYTES), SEGMENT_BYTES, 0)


def test_a_disk_error_ends_the_writing_and_nothing_else(tmp_path):
    writer = JobOutputWriter(tmp_path / "missing")

    writer.take(memoryview(b"lost"))
    writer.take(memoryview(b"lost too"))
    writer.close()

    assert list(tmp_path.iterdir()) == []


@settings(max_examples=50, deadline=None)
@given(offset=st.integers(-5, 100), limit=st.integers(0, 100))
def test_any_window_is_a_slice(tmp_path_factory, offset, limit):
    folder = tmp_path_factory.mktemp("window")
    writer = JobOutputWriter(folder)
    writer.take(memoryview(b"0123456789" * 5))
    writer.close()

    part = job_records.read_output(folder, offset, limit)

    start = max(offset, 0)
    assert part.data == (b"0123456789" * 5)[start : start + limit]
    assert part.next_offset == start + len(part.data)
    assert part.missing == 0
