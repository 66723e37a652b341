"""Uses of otherwise ordinary programs that are refused. Data only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from handrail.shell.tables.catastrophes import ACCOUNTS, DISK, RIGHTS, Refusal

_NETWORK: Final = Refusal(
    "it turns off the protection or the network of the machine", "ask the user to change it"
)
_KERNEL: Final = Refusal("it changes the running kernel", "ask the user to do it")
_LOGS: Final = Refusal("it deletes the machine's logs", "read them instead")
_CLOUD: Final = Refusal(
    "it deletes whole accounts, clusters, databases or buckets", "ask the user to delete them"
)
_QUIETLY: Final = r"(?=.*(?: -q| -y| --quiet| --yes| --force| -f)\b)"
_FILTER: Final = re.compile(r".* (?:-F|-X|-P|-D|--flush|--policy|--delete-chain|--delete)(?: .*)?")

# The words of the command, joined by single blanks, must match as a whole.
REFUSED_USES: Final[Mapping[str, tuple[tuple[re.Pattern[str], Refusal], ...]]] = {
    **dict.fromkeys(("iptables", "ip6tables", "ebtables", "arptables"), ((_FILTER, _NETWORK),)),
    "nft": ((re.compile(r".* (?:flush|delete|destroy)(?: .*)?"), _NETWORK),),
    "ufw": ((re.compile(r".* (?:disable|reset|default allow)(?: .*)?"), _NETWORK),),
    "firewall-cmd": ((re.compile(r".* --panic-on"), _NETWORK),),
    "setenforce": ((re.compile(r".* (?:0|[Pp]ermissive)"), _NETWORK),),
    "auditctl": ((re.compile(r".* (?:-D|-e ?0)(?: .*)?"), _NETWORK),),
    "ip": (
        (
            re.compile(
                r".* (?:link|l)\b.* down(?: .*)?|.* (?:route|addr?\w*|rule) (?:del|flush).*"
            ),
            _NETWORK,
        ),
    ),
    **dict.fromkeys(("ifconfig",), ((re.compile(r".* down"), _NETWORK),)),
    "nmcli": ((re.compile(r".* (?:networking off|radio all off)"), _NETWORK),),
    "sysctl": (
        (re.compile(r".* (?:-w|--write|-p|--load|--system|[\w./-]+=\S*)(?: .*)?"), _KERNEL),
    ),
    "journalctl": ((re.compile(r".* --vacuum-.*"), _LOGS),),
    "flashrom": ((re.compile(r".* (?:-w|-E|--write|--erase)(?: .*)?"), DISK),),
    "efibootmgr": (
        (re.compile(r".* (?:-B|--delete-bootnum|-O|--delete-bootorder)(?: .*)?"), DISK),
    ),
    **dict.fromkeys(
        ("kubectl", "oc"),
        (
            (re.compile(r".* debug (?:.* )?node/.*"), RIGHTS),
            (
                re.compile(
                    r"(?=.* delete )(?=.* --all\b)"
                    r"(?:.* (?:-A|--all-namespaces)\b|.* (?:ns|namespaces?|nodes?|pv|crds?)\b).*"
                ),
                _CLOUD,
            ),
        ),
    ),
    "aws": (
        (
            re.compile(r".* s3 rb .*--force.*|.* s3 rm (?=.*--recursive).*s3://[^/ ]+/?(?: .*)?"),
            _CLOUD,
        ),
        (re.compile(r".* delete-db-\w+ .*--skip-final-snapshot.*"), _CLOUD),
        # Of instances that another command lists, or of all.
        (
            re.compile(r".* terminate-instances (?!.*--instance-ids(?: i-[0-9a-f]+)+(?: --|$)).*"),
            _CLOUD,
        ),
        (re.compile(r".* organizations (?:close-account|delete-organization).*"), _CLOUD),
        (re.compile(r".* iam create-access-key .*--user-name[ =]root.*"), ACCOUNTS),
    ),
    "gcloud": (
        (
            re.compile(
                _QUIETLY + r".* (?:projects|sql|spanner|clusters|databases|buckets|rm)\b.*"
                r"(?: delete\b|gs://[^/ ]+/?(?: |$)).*"
            ),
            _CLOUD,
        ),
    ),
    "gsutil": ((re.compile(r".* (?:rm (?=.*-\w*[rR]).*gs://[^/ ]+/?(?: .*)?|rb -f .*)"), _CLOUD),),
    "az": (
        (re.compile(_QUIETLY + r".* (?:group|sql|cosmosdb|aks|storage)\b.* delete\b.*"), _CLOUD),
    ),
    "doctl": ((re.compile(_QUIETLY + r".* (?:delete|rm|destroy)\b.*"), _CLOUD),),
    "rclone": ((re.compile(r".* purge .*:.*"), _CLOUD),),
    "lxc": ((re.compile(r".* device add .* source=/(?: .*)?"), RIGHTS),),
}
