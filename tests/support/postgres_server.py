"""A PostgreSQL server in a temporary directory and on a socket there, for tests and measurements."""

import os
import shutil
import signal
import subprocess
import tempfile
from contextlib import closing, contextmanager
from functools import cache
from itertools import count
from pathlib import Path

from tests.support.waiting import wait_exit, wait_until

# PostgreSQL refuses to run as root; this is the user `nobody`.
NOBODY = 65534
START_S = 60


@cache
def programs():
    """The directory with `postgres` and `initdb`; None if they are not installed. Debian does not
    put them on PATH.
    """
    found = [Path(one).parent for one in [shutil.which("initdb")] if one]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((one for one in found if (one / "postgres").exists()), None)


class PostgresServer:
    """A server that can be killed and started again."""

    def __init__(self, *, fsync=False):
        self.directory = Path(tempfile.mkdtemp(prefix="handrail-pg-"))
        self._fsync = fsync
        self._process = None
        self._numbers = count(1)
        if os.geteuid() == 0:
            os.chown(self.directory, NOBODY, NOBODY)
        self._run("initdb", "-D", self._data, "-U", "handrail", "-A", "trust", "-E", "UTF8", "-N")
        self.start()

    @property
    def _data(self):
        return str(self.directory / "data")

    def url(self, database="postgres", user="handrail", **options):
        """The URL of a database; `options` are parameters."""
        more = "".join(f"&{name}={value}" for name, value in options.items())
        return f"postgresql://{user}@/{database}?host={self.directory}{more}"

    def connect(self):
        """A connection of psycopg."""
        import psycopg

        return psycopg.connect(self.url(), autocommit=True)

    def new_store(self):
        """The URL of an empty schema."""
        name = f"s{os.getpid()}_{next(self._numbers)}"
        with closing(self.connect()) as db:
            db.execute(f"CREATE SCHEMA {name}")
        return self.url(options=f"-csearch_path%3D{name}")

    def start(self):
        """Start the server and wait until it answers. While processes of a killed one are still
        there, a new one gives up, and is started again.
        """
        wait_until(self._try_to_start, START_S)

    def _try_to_start(self):
        import psycopg

        if self._process is None or self._process.poll() is not None:
            command = [str(programs() / "postgres"), "-D", self._data, "-k", str(self.directory)]
            settings = {"listen_addresses": "", "fsync": "on" if self._fsync else "off"}
            settings |= {"max_connections": "60", "shared_buffers": "16MB"}
            for name, value in settings.items():
                command += ["-c", f"{name}={value}"]
            self._process = subprocess.Popen(
                [*_as_nobody(), *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
            )
        try:
            self.connect().close()
        except psycopg.OperationalError:
            return False
        return True

    def kill(self, how=signal.SIGQUIT):
        """End the server at once, in the middle of everything (SIGQUIT, SIGKILL)."""
        self._process.send_signal(how)
        wait_exit(self._process)

    def stop(self):
        """End the server and delete its directory."""
        if self._process.poll() is None:
            self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _run(self, name, *arguments):
        subprocess.run(
            [*_as_nobody(), str(programs() / name), *arguments],
            check=True,
            capture_output=True,
            cwd="/",
            timeout=START_S,
        )


def _as_nobody():
    if os.geteuid() != 0:
        return []
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


@contextmanager
def running_server(**options):
    """A server for one test or one process of tests."""
    server = PostgresServer(**options)
    try:
        yield server
    finally:
        server.stop()
