"""Directories and files whose loss is a catastrophe: of the system, of services, of users. Data only."""

from __future__ import annotations

import re
from typing import Final

from handrail.shell.tables.word_list import word_set

# A system does not start, or forgets what it is for, without one of these.
TOPS: Final = (
    *("bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "media", "mnt"),
    *("nix", "opt", "proc", "root", "run", "sbin", "snap", "srv", "sys", "usr", "var"),
    *("backup", "backups", "data", "export", "storage", "selinux"),
    *("Applications", "Library", "Network", "System", "Users", "Volumes", "private"),
)
BELOW: Final = (
    *("var/lib", "var/log", "var/spool", "var/mail", "var/db", "var/backups", "var/www", "var/opt"),
    *("var/vmail", "var/spool/mail", "var/lib/mysql"),
    *("private/etc", "private/var", "mnt/c", "mnt/c/Windows", "mnt/c/Users"),
)
# Whoever serves something keeps each thing in a directory of its own in these.
SERVED: Final = (
    *(("srv",), ("mnt",), ("media",), ("Volumes",), ("backup",), ("backups",)),
    *(("var", "www"), ("var", "backups"), ("var", "mail"), ("var", "opt"), ("var", "vmail")),
)
# What a server shows; it is deployed from somewhere else.
SITES: Final = (("srv",), ("srv", "www"), ("var", "www"))
# Services whose data is lost with any directory below `/var/lib`.
SERVICES: Final = re.compile(
    r"postgres\w*|pgsql|mysql\w*|mariadb|mongo\w*|redis|valkey|elasticsearch|opensearch|docker|containers?|containerd"
    r"|etcd|rabbitmq|influxdb\d?|grafana|prometheus|cassandra|scylla|clickhouse\w*|neo4j|couchdb|openldap|samba|libvirt"
    r"|kubelet|rancher|gitlab|jenkins|minio|ceph|vault|consul|nomad|zookeeper|kafka|solr|nats|gitea|nextcloud|lxc|lxd|incus"
    r"|machines|portables|pgbackrest|barman|bacula|restic"
)
# Everything in these belongs to the system, not only the directory as a whole.
SYSTEM: Final = word_set("""
    bin boot efi etc lib lib32 lib64 libx32 nix proc sbin sys usr selinux System
""")
SYSTEM_BELOW: Final = (
    *(("private", "etc"), ("var", "spool", "cron"), ("var", "lib", "dpkg"), ("var", "log")),
)
# What users keep in the home directory and cannot restore.
KEPT: Final = (
    *(".ssh", ".gnupg", ".aws", ".kube", ".config", ".local", ".password-store", ".mozilla"),
    *(".thunderbird", "Maildir", "Mail", ".mail"),
    *("Desktop", "Documents", "Downloads", "Library", "Movies", "Music", "Pictures", "Videos"),
)
PRIVATE_KEY: Final = re.compile(
    r"\.ssh/(?:id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|identity)|\.gnupg/private-keys.*|\.config/sops/age/keys\.txt"
    r"|\.age/.*|\.password-store/.*|\.local/share/keyrings/.*|Library/Keychains/.*|\.bitcoin/wallet.*|\.ethereum/keystore/.*"
)
# A user's own keys by their names, and the directories that hold nothing but keys.
KEYS: Final = (
    *(
        ".ssh/id_rsa",
        ".ssh/id_ed25519",
        ".ssh/id_ecdsa",
        ".gnupg/private-keys-v1.d",
        ".gnupg/secring.gpg",
    ),
    *(".password-store", ".local/share/keyrings", ".local/share/kwalletd", ".local/share/gopass"),
    *("Library/Keychains", ".config/sops/age/keys.txt", ".age", ".bitcoin", ".ethereum/keystore"),
    *(".electrum/wallets", ".monero", ".config/solana/id.json"),
)
# Where a repository keeps its history, below its root.
REPOSITORIES: Final = (
    *((".git",), (".git", "objects"), (".git", "refs")),
    *((".git", "objects", "pack"), (".hg",), (".hg", "store"), (".jj",), (".jj", "repo")),
    *((".jj", "repo", "store"), (".bzr",), (".bzr", "repository"), (".pijul",), ("_darcs",)),
)
# Files of a history as globs name them: `.git/objects/pack/*.pack`.
HISTORY_FILES: Final = (
    (".git", "objects", "pack", "pack-0a1b.pack"),
    (".git", "objects", "0a", "1b2c3d4e"),
)
# What is only there for a while, directly below the root of the file system.
SCRATCH: Final = word_set("""
    tmp temp scratch build builds cache out output dist target artifacts coverage results
""")
# Directories of backups; what they hold is deleted by its age.
BACKUPS: Final = (("backup",), ("backups",), ("var", "backups"))
MOUNTED: Final = (["mnt"], ["media"], ["srv"], ["data"], ["storage"], ["Volumes"], ["opt"])
BACKUP_NAMES: Final = tuple([one] for one in ("backup", "backups", "bak", "dumps", "snapshots"))
# Keys and credentials: whoever has them can log in as the user.
SECRET_STORES: Final = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".password-store", ".mozilla", ".netrc"),
    *(".git-credentials", ".pypirc", ".npmrc", ".pgpass", ".docker/config.json", ".config/gcloud"),
    *(".config/gh", ".local/share/keyrings", ".config/google-chrome", ".vault-token"),
)
PUBLIC: Final = re.compile(r".*\.pub|known_hosts.*|config|authorized_keys.*")
MACHINE_SECRETS: Final = re.compile(
    r"/etc/(?:g?shadow-?|sudoers|ssh/ssh_host_\w+_key)|/proc/(?:\d+|self)/environ|/(?:var/)?run/secrets(?:/.*)?"
)
# What a user has typed; nothing but wiping traces empties it.
HISTORIES: Final = re.compile(r"\.(?:\w+_)?hist(?:ory|file)")
ROOT_FILES: Final = frozenset(("swapfile", "swap.img", "vmlinuz", "initrd.img", "init"))
HARMLESS_DEVICES: Final = word_set("""
    null zero full random urandom tty stdin stdout stderr console fd pts shm tcp udp ptmx mqueue
""")
