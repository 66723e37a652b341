"""Runs programs for calls: one helper process per runtime starts, supervises and ends them.

`client` is the runtime's side. `runner/` runs in the helper processes and imports nothing large.
Orphans, the processes that a killed runtime or runner leaves, are ended by the runner of the
program (`runner/runner_process.py`) or by the supervisor (`runner/main.py`); jobs are ended in
`jobs.py`. The next runtime waits for them in `killed_runtimes.py`.
"""
