import os
import shutil

import pytest

from handrail.host.processes import spawn


@pytest.mark.parametrize("size", [0, 1, 70_000, 3_000_000])
async def test_a_process_finds_what_it_is_fed_and_then_the_end(tmp_path, size):
    command = [os.path.realpath(shutil.which("wc")), "-c"]
    here = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        done = await spawn.run(
            command, cwd_fd=here, read=[], deadline_s=10, max_bytes=100, feed=b"x" * size
        )
    finally:
        os.close(here)

    assert (done.exit_code, done.stdout.strip()) == (0, str(size).encode())
