"""What a server leaves behind: processes, locks, leases and temporary files.

Each check also sees what is there while a server runs, so that a test can show that it looks.
"""

import os
import select
import sqlite3
from dataclasses import dataclass
from pathlib import Path

PATIENCE_S = 30


@dataclass
class Traces:
    """Of servers on `root` that were started with this state directory and `TMPDIR`."""

    root: Path
    state: Path
    temp: Path

    def processes(self):
        """Command lines of what still runs: with our environment, or in words that name it."""
        return [_words(pid) for pid in pids_of(str(self.temp)) if pid != os.getpid()]

    def locks(self):
        """Files and folders of ours that the kernel says somebody holds a lock on."""
        places = [place for top in (self.root, self.state, self.temp) for place in _tree(top)]
        held = {line.split()[5].rpartition(":")[2] for line in _kernel_locks()}
        return [str(place) for place in places if str(place.lstat().st_ino) in held]

    def leases(self):
        """Reserved paths and claims in the record."""
        return [row for store in self.state.rglob("store.db") for row in _reserved(store)]

    def temporary(self):
        """What lies where temporary files go, or is named like one, or is nobody's."""
        named = [place for top in (self.root, self.state) for place in _tree(top)]
        odd = [place for place in named if place.suffix in (".tmp", ".part") or "tmp" in place.name]
        running = [place for folder in self.state.rglob("running") for place in _tree(folder)]
        return [str(place) for place in [*_tree(self.temp), *odd, *running]]

    def all(self):
        """Everything, by kind."""
        return {
            "processes": self.processes(),
            "locks": self.locks(),
            "leases": self.leases(),
            "temporary": self.temporary(),
        }


NOTHING = {"processes": [], "locks": [], "leases": [], "temporary": []}


def pids_of(text):
    """Processes that have a text in their command line or in the environment they started in."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            said = folder.name.isdecimal() and b"".join(
                (folder / name).read_bytes() for name in ("cmdline", "environ")
            )
        except OSError:
            continue
        if said and text.encode() in said:
            found.append(int(folder.name))
    return found


def all_ended(pids):
    """Whether the processes end; waits for the kernel to say so."""
    return all(_ended(pid) for pid in pids)


def _ended(pid):
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([process], [], [], PATIENCE_S)[0])
    finally:
        os.close(process)


def _words(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return f"{pid}, just ended"


def _tree(top):
    return sorted(top.rglob("*")) if top.is_dir() else []


def _kernel_locks():
    return [line for line in Path("/proc/locks").read_text().splitlines() if "->" not in line]


def _reserved(store):
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as db:
        rows = [db.execute(f"SELECT * FROM {name}").fetchall() for name in ("leases", "claims")]
    db.close()
    return [row for table in rows for row in table]
