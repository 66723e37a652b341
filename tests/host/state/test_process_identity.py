"""Whether the process that began something may still run."""

import os
import subprocess
import sys

from handrail.host.state.identities import may_still_run, process_name, this_process


def test_this_process_runs_and_one_that_has_ended_does_not():
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    name = process_name(child.pid)

    running = may_still_run(name)
    child.communicate(b"\n")

    assert (running, may_still_run(name)) == (True, False)
    assert this_process() == process_name(os.getpid())
    assert may_still_run(this_process())


def test_of_another_machine_nobody_knows_and_another_boot_is_over():
    host, boot, pid, started = this_process().split("/")

    assert may_still_run(f"elsewhere-{host}/{boot}/{pid}/{started}")
    assert not may_still_run(f"{host}/another-boot/{pid}/{started}")
    assert not may_still_run(f"{host}/{boot}/{pid}/1{started}")
