"""Which paths are critical, asked directly: the commands are in test_blocklist."""

import pytest
from tests.support.commands import ROOT, WHERE

from handrail.shell.blocklist.critical_paths import (
    CriticalPaths,
    fnmatch_pattern,
    is_stream,
    is_wildcard,
)
from handrail.shell.expand import UNKNOWN, UNSET

PLACES = CriticalPaths(WHERE)
# `*`, `?` and `[` that stand for themselves.
STAR, MARK, BRACKET = "\ue000", "\ue001", "\ue002"


@pytest.mark.parametrize(
    ("name", "matches"),
    [
        *((one, True) for one in ("*", ".*", "?*", "?", "[a-z]*", "[!x]", "..?", "[]]", "[]x]")),
        *((one, False) for one in ("", ".", "..", "a", "a*", "*a", "[a", "[]", "[a]b", ".a", "b?")),
    ],
)
def test_a_wildcard_matches_any_name(name, matches):
    assert is_wildcard(name) is matches


@pytest.mark.parametrize(
    ("path", "stream"),
    [
        ("proc/self/fd/1", True),
        ("proc/self/fd", False),
        ("proc/self/fd/1/x", False),
        ("proc/self/maps", False),
        ("proc/1/fd/1", False),
        ("dev/fd/3", True),
        ("dev/fd", False),
        ("dev/fd/3/x", False),
        ("dev/stdin", True),
        ("dev/stdout", True),
        ("dev/stderr", True),
        ("dev/sda", False),
        ("dev/stdin/x", False),
    ],
)
def test_a_stream_belongs_to_the_process_that_opens_it(path, stream):
    assert is_stream(path.split("/")) is stream


@pytest.mark.parametrize(
    ("name", "pattern"),
    [("a*b?", "a*b?"), (f"a{STAR}", "a[*]"), (f"{MARK}b", "[?]b"), (f"{BRACKET}c]", "[[]c]")],
)
def test_inactive_glob_characters_are_escaped(name, pattern):
    assert fnmatch_pattern(name) == pattern


@pytest.mark.parametrize(
    ("field", "lost"),
    [
        ("/", "the whole file system"),
        ("//", "the whole file system"),
        ("/*", "the whole file system"),
        ("/*/*", "the whole file system"),
        ("/./", "the whole file system"),
        ("/usr/..", "the whole file system"),
        ("/../..", "the whole file system"),
        ("/etc", "/etc"),
        ("/etc/", "/etc"),
        ("/etc/*", "/etc/*"),
        ("/etc/passwd", "/etc/passwd"),
        ("/et?", "/et?"),
        ("/et" + STAR, None),
        ("/b?n", "/b?n"),
        ("/nowhere", None),
        ("/nowhere/*", None),
        ("/n*where", None),
        ("/swapfile", "/swapfile"),
        ("/opt/x/swapfile", None),
        ("/data/x", None),
        ("/data/x/y", None),
        ("/tmp", "/tmp"),
        ("/tmp/*", None),
        ("/tmp/x", None),
        ("/tmp/x/*", None),
        ("/var", "/var"),
        ("/var/lib", "/var/lib"),
        ("/var/lib/mysql", "/var/lib/mysql"),
        ("/var/lib/mysql/x", "/var/lib/mysql/x"),
        ("/var/lib/other", "/var/lib/other"),
        ("/var/lib/other/x", None),
        ("/var/www/x", "/var/www/x"),
        ("/var/www/x/y", None),
        ("/var/lib/dpkg/x", "/var/lib/dpkg/x"),
        ("/var/log/x/y", "/var/log/x/y"),
        ("/var/cache/mysql", None),
        ("/mnt/c/Users", "/mnt/c/Users"),
        ("/mnt/c/Users/x", None),
        ("/private/etc/hosts", "/private/etc/hosts"),
        ("/dev/sda", "/dev/sda"),
        ("/dev/null", None),
        ("/dev/tty1", None),
        ("/proc/self/fd/1", None),
        ("/home/u", "the directories around the workspace"),
        ("/home/u/projects", "the directories around the workspace"),
        ("/home/u/pro*", "the directories around the workspace"),
        (ROOT, None),
        (f"{ROOT}/*", None),
        ("/home/u/projects/*", "the directories around the workspace"),
        ("/home/u/projects/ap?", "the directories around the workspace"),
        ("/home/u/projects/other", None),
        ("/home/u/.ssh", "/home/u/.ssh"),
        ("/home/u/.ssh/*", "/home/u/.ssh"),
        ("/home/u/.ssh/authorized_keys", "/home/u/.ssh/authorized_keys"),
        ("/home/u/.ssh/authorized_keys2", "/home/u/.ssh/authorized_keys2"),
        ("/home/u/.ssh/config", None),
        ("/home/u/ssh/authorized_keys", None),
        ("/home/u/.bash_history", "/home/u/.bash_history"),
        ("/home/u/x/.bash_history", None),
        ("/root/.bash_history", "/root/.bash_history"),
        ("/home/u/Documents", "/home/u/Documents"),
        ("/home/u/Documents/x", None),
        ("/home/other", "/home/other"),
        ("/home/o/x", None),
        (f"/home/{UNKNOWN}", None),
        ("/Users/other", "/Users/other"),
        ("/srv/other", "/srv/other"),
        ("/srv/other/x", None),
        (f"/srv/{UNKNOWN}", None),
        ("", None),
        ("..", "the directories around the workspace"),
        ("../other", None),
        ("../../..", "the directories around the workspace"),
        ("src", None),
        (f"{UNKNOWN}/x", None),
    ],
)
def test_what_is_lost_with_a_path(field, lost):
    assert PLACES.critical_loss(field, ROOT) == lost


def test_nothing_is_known_of_a_relative_path_in_an_unknown_directory():
    assert PLACES.critical_loss("..", None) is None
    assert PLACES.critical_loss("/etc", None) == "/etc"


@pytest.mark.parametrize("field", [f"/{UNSET}", f"/{UNSET}/*", f"/etc/{UNSET}", f"/{UNSET}/etc"])
def test_a_variable_that_may_be_empty_is_counted_as_empty(field):
    assert "variable" in PLACES.critical_loss(field, ROOT)


@pytest.mark.parametrize("field", [f"/tmp/x{UNSET}", f"{UNSET}x", f"x/{UNSET}", f"a{UNSET}/etc"])
def test_an_empty_variable_that_leaves_an_ordinary_path_is_no_loss(field):
    assert PLACES.critical_loss(field, ROOT) is None


def test_links_are_followed_in_the_directories_and_at_the_end_if_asked():
    links = {f"{ROOT}/link": "/etc", "/home/u/projects/app/link": "/etc"}

    def resolve(path):
        for link, target in links.items():
            if path == link or path.startswith(f"{link}/"):
                return target + path[len(link) :]
        return path

    places = CriticalPaths(WHERE._replace(resolve=resolve))

    assert places.critical_loss("link", ROOT) is None
    assert places.critical_loss("link", ROOT, follow=True) == "/etc"
    assert places.critical_loss("link/", ROOT) == "/etc"
    assert places.critical_loss("link/passwd", ROOT) == "/etc/passwd"
    assert places.critical_loss("link/*", ROOT) == "/etc/*"
    assert places.system_target("link/passwd", ROOT) == "/etc/passwd"
    assert places.system_target("link", ROOT) == "/etc"
    assert places.system_target("link", ROOT, follow=False) is None
    assert places.holds_secrets("link/shadow", ROOT)
    links[f"{ROOT}/key"] = "/home/u/.ssh/id_rsa"
    assert places.holds_secrets("key", ROOT)
    assert not places.is_private_key("key", ROOT)


@pytest.mark.parametrize(
    ("field", "target"),
    [
        ("/etc/hosts", "/etc/hosts"),
        ("/usr/bin/x", "/usr/bin/x"),
        ("/us?/bin", "/us?/bin"),
        ("/", "/"),
        ("/dev/sda", "/dev/sda"),
        ("/dev/sda/x", "/dev/sda/x"),
        ("/dev/null", None),
        ("/dev/ttyS0", None),
        ("/dev", None),
        ("/dev/fd/1", None),
        ("/proc/self/fd/1", None),
        ("/proc/self/mem", "/proc/self/mem"),
        ("/proc/sysrq-trigger", "/proc/sysrq-trigger"),
        ("/vmlinuz", "/vmlinuz"),
        ("/var/log/syslog", "/var/log/syslog"),
        ("/var/spool/cron/root", "/var/spool/cron/root"),
        ("/var/spool/mail/root", None),
        ("/var/tmp/x", None),
        ("/opt/x", None),
        ("/home/u/x", None),
        ("/home/u/.ssh/authorized_keys", "/home/u/.ssh/authorized_keys"),
        ("/home/u/.zsh_history", "/home/u/.zsh_history"),
        ("/home/u/.histfile", "/home/u/.histfile"),
        ("/home/u/history", None),
        ("x", None),
        ("../../../../etc/x", "/etc/x"),
    ],
)
def test_a_write_to_the_system(field, target):
    assert PLACES.system_target(field, ROOT) == target


def test_a_root_in_the_system_belongs_to_the_workspace():
    root = "/etc/app"
    places = CriticalPaths(WHERE._replace(cwd=root, roots=(root,)))

    assert places.system_target("x", root) is None
    assert places.system_target("../y", root) == "/etc/y"
    assert places.critical_loss("x", root) is None
    assert places.critical_loss("..", root) == "the directories around the workspace"


@pytest.mark.parametrize(
    ("field", "cwd", "inside"),
    [
        ("x", ROOT, True),
        (ROOT, None, True),
        (f"{ROOT}/x", None, True),
        (f"{ROOT}x", None, False),
        ("../x", ROOT, False),
        ("x", None, False),
        ("x", "/tmp", False),
        ("", ROOT, False),
        (UNKNOWN, ROOT, False),
        (f"a{UNKNOWN}", ROOT, True),
    ],
)
def test_what_is_inside_the_workspace(field, cwd, inside):
    assert PLACES.is_in_workspace(field, cwd) is inside


@pytest.mark.parametrize(
    ("field", "secret"),
    [
        *((f"/etc/{one}", True) for one in ("shadow", "gshadow-", "sudoers")),
        ("/etc/ssh/ssh_host_rsa_key", True),
        ("/etc/ssh/ssh_host_rsa_key.pub", False),
        ("/etc/passwd", False),
        ("/proc/self/environ", True),
        ("/proc/12/environ", True),
        ("/proc/12/status", False),
        ("/run/secrets", True),
        ("/var/run/secrets/x", True),
        ("/run/other", False),
        ("/home/u", True),
        ("/home/u/*", True),
        ("/home/u/.*", True),
        ("/home/u/*/x", False),
        ("/home/u/.ssh", True),
        ("/home/u/.ssh/id_rsa", True),
        ("/home/u/.ssh/id_rsa.pub", False),
        ("/home/u/.ssh/config", False),
        ("/home/u/.ssh/known_hosts.old", False),
        ("/home/u/.ss?/id_rsa", True),
        ("/home/u/.aws/credentials", True),
        ("/home/u/.aws/config", True),
        ("/home/u/.config", True),
        ("/home/u/.config/gh", True),
        ("/home/u/.config/gh/hosts.yml", True),
        ("/home/u/.config/other", False),
        ("/home/u/.docker/config.json", True),
        ("/home/u/.docker/x", False),
        ("/home/u/notes", False),
        ("/home/u/.bash_history", True),
        ("/srv/.bash_history", True),
        ("/root/.ssh/id_rsa", True),
        ("/root", True),
        ("/root/./x", False),
        ("/home/other/.netrc", True),
        ("/home/other", True),
        ("/home", True),
        ("/Users/other/.aws", True),
        ("/srv/.aws", False),
        (f"{ROOT}/.ssh/id_rsa", False),
        (f"{ROOT}/.bash_history", False),
        ("x", False),
    ],
)
def test_paths_with_secrets(field, secret):
    assert PLACES.holds_secrets(field, ROOT) is secret


@pytest.mark.parametrize(
    ("field", "key"),
    [
        ("/home/u/.ssh/id_rsa", True),
        ("/home/u/.ssh/id_ed25519_sk", True),
        ("/home/u/.ssh/identity", True),
        ("/home/u/.ssh/id_rsa.pub", False),
        ("/home/u/.ssh", False),
        ("/home/u/x/.ssh/id_rsa", False),
        ("/home/other/.ssh/id_ecdsa", True),
        ("/root/.gnupg/private-keys-v1.d", True),
        ("/root/.gnupg/pubring.kbx", False),
        ("/srv/.ssh/id_rsa", False),
        ("../../.ssh/id_rsa", True),
    ],
)
def test_private_keys(field, key):
    assert PLACES.is_private_key(field, ROOT) is key


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("~", "/home/u"),
        ("~/x", "/home/u/x"),
        ("$HOME", "/home/u"),
        ("$HOME/x", "/home/u/x"),
        ("${HOME}/x", "/home/u/x"),
        ("~other", "~other"),
        ("$HOMES/x", "$HOMES/x"),
        ("/x", "/x"),
    ],
)
def test_the_home_directory_in_another_language(text, path):
    assert PLACES.expand_home(text) == path


@pytest.mark.parametrize(
    ("field", "disk"),
    [
        ("/dev/sda", True),
        ("/dev/./sda1", True),
        ("/dev/mapper/root", True),
        ("/dev/null", False),
        ("/dev/tty", False),
        ("/dev/ttyUSB0", False),
        ("/dev", False),
        ("/", False),
        ("/home", False),
        ("dev/sda", False),
    ],
)
def test_devices_that_hold_data(field, disk):
    assert PLACES.is_disk(field) is disk


def test_without_a_home_nothing_of_the_user_is_critical():
    places = CriticalPaths(WHERE._replace(home=""))

    assert places.critical_loss("/srv/u/Documents", ROOT) is None
    assert places.critical_loss("/home/u", ROOT) == "the directories around the workspace"
    assert places.holds_secrets("/root/.ssh/id_rsa", ROOT)


@pytest.mark.parametrize(
    ("field", "history"),
    [
        (".git", True),
        (".git/", True),
        (".git/*", True),
        (".git/objects", True),
        (".git/refs", True),
        (".git/objects/pack/*", True),
        (f"{ROOT}/.git", True),
        (".git/config", False),
        (".git/refs/heads", False),
        ("src/.git", False),
        ("../.git", True),
        ("/home/u/other/.git", True),
        ("/srv/git/*.git", True),
        ("/tmp/clone/.git", False),
        (".", False),
        ("*", False),
    ],
)
def test_where_the_history_of_a_repository_is_kept(field, history):
    assert PLACES.is_repository(field, ROOT) is history


@pytest.mark.parametrize(
    ("field", "cwd", "root"),
    [
        (".", ROOT, True),
        (ROOT, None, True),
        ("src/..", ROOT, True),
        ("..", f"{ROOT}/src", True),
        ("src", ROOT, False),
        ("..", ROOT, False),
        (".", None, False),
    ],
)
def test_a_root_is_known(field, cwd, root):
    assert PLACES.is_root(field, cwd) is root


@pytest.mark.parametrize(
    ("field", "backups"),
    [
        ("/backup", True),
        ("/backups/daily", True),
        ("/var/backups", True),
        ("/var/backups/db/1.sql", True),
        ("/mnt/backup", True),
        ("/media/backups/a", True),
        ("/srv/dumps", True),
        ("/var", False),
        ("/var/lib/backups", False),
        ("/home/backup", False),
        ("/mnt", False),
        ("/mnt/data", False),
        ("backups", False),
        (f"{ROOT}/backups", False),
    ],
)
def test_where_backups_are_kept(field, backups):
    assert PLACES.keeps_backups(field, ROOT) is backups


def test_a_root_among_the_backups_belongs_to_the_workspace():
    root = "/backup/app"
    places = CriticalPaths(WHERE._replace(cwd=root, roots=(root,)))

    assert places.keeps_backups("/backup/other", root)
    assert not places.keeps_backups("/backup/app/old", root)
    assert not places.keeps_backups("old", root)


@pytest.mark.parametrize(
    ("field", "site"),
    [
        ("/srv/www", True),
        ("/srv/www/shop", True),
        ("/var/www/html", True),
        ("/var/www", False),
        ("/var/www/html/old", False),
        ("/var/shop", False),
        ("www", False),
    ],
)
def test_a_directory_that_a_server_shows(field, site):
    assert PLACES.is_site(field, ROOT) is site


@pytest.mark.parametrize(
    ("field", "data"),
    [
        ("/var/lib/mysql", True),
        ("/var/lib/postgresql/16/main", True),
        ("/var/lib", False),
        ("/var/cache/mysql", False),
        ("/srv/lib/mysql", False),
    ],
)
def test_where_services_keep_their_data(field, data):
    assert PLACES.is_service_data(field, ROOT) is data


def test_a_root_in_the_data_of_a_service_belongs_to_the_workspace():
    root = "/var/lib/jenkins/workspace/app"
    places = CriticalPaths(WHERE._replace(cwd=root, roots=(root,)))

    assert places.is_service_data("/var/lib/jenkins/jobs", root)
    assert not places.is_service_data("build", root)
