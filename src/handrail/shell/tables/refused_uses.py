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
_EVERYBODY: Final = Refusal("it gives everybody all rights", "give only what is needed")
_KILLS: Final = Refusal(
    "it ends processes of others", "end only what you started, by its process id"
)
CLOUD: Final = Refusal(
    "it deletes whole accounts, clusters, databases or buckets", "ask the user to delete them"
)
REMOTE_BRANCHES: Final = Refusal(
    "it replaces or deletes branches of a repository that others use", "ask the user to push them"
)
_DEFENCES: Final = (
    r"(?:apparmor|auditd|firewalld|ufw|fail2ban|iptables|nftables|selinux\S*|crowdsec|clamav\S*|falco|ossec\S*"
    r"|wazuh\S*|sshguard|sshd?|dropbear|NetworkManager|networking|osquery\S*|systemd-\S+|dbus\S*|polkit\S*|getty\S*|gdm|lightdm|rsyslog|syslog\S*|aide\S*|chronyd?|ntpd?"
    # Sensors and scanners of those who look after the machine.
    r"|falcon-sensor|sentinel\S*|mdatp|cb(?:agentd|daemon|defense)|ds_agent|xagt|traps_pmd|nessus\S*|qualys\S*|usbguard"
    r"|elastic-agent|auditbeat|tripwire|snort|suricata|zeek|samhain|rkhunter|sophos\S*|esets?|mcafee\S*|cylance\S*)(?:\.service)?"
)
_FILTER: Final = re.compile(
    r".* (?:-F|-X|-P|-D|--flush|--policy|--delete-chain|--delete)(?: .*)?"
    # Everybody's packets, or those of the way in; one address that is shut out is not named here.
    r"|(?!.* (?:-s|--source|-d|--destination|--ctstate|--state|-m recent|--limit)\b)(?=.* (?:INPUT|OUTPUT|FORWARD)\b)"
    r"(?=.* (?:-j|--jump) (?:DROP|REJECT))(?:(?!.*--dports? )|(?=.*--dports? (?:\S+,)?22\b)).*"
)

# The words of the command, joined by single blanks, must match as a whole.
REFUSED_USES: Final[Mapping[str, tuple[tuple[re.Pattern[str], Refusal], ...]]] = {
    **dict.fromkeys(("iptables", "ip6tables", "ebtables", "arptables"), ((_FILTER, _NETWORK),)),
    "nft": (
        (
            re.compile(
                r".* (?:flush|delete|destroy)(?: .*)?|(?!.* (?:saddr|daddr|ct|limit)\b)(?=.* (?:input|output|forward)\b)"
                r"(?:(?!.* dport )|(?=.* dport (?:22|ssh)\b)).* (?:add|insert) rule .*(?:drop|reject)(?: .*)?"
                r"|.* policy drop.*"
            ),
            _NETWORK,
        ),
    ),
    "ufw": (
        (
            re.compile(
                r".* (?:disable|reset|default (?:allow|deny|reject)|(?:deny|reject) (?:in )?(?:22|ssh|OpenSSH)\b\S*)(?: .*)?"
            ),
            _NETWORK,
        ),
    ),
    **dict.fromkeys(
        ("update-rc.d", "chkconfig", "rc-update", "sysv-rc-conf"),
        (
            (
                re.compile(
                    rf".*\b{_DEFENCES}\b.*(?:remove|disable|off|del).*|.* (?:del|delete|disable) {_DEFENCES}.*"
                ),
                _NETWORK,
            ),
        ),
    ),
    "firewall-cmd": (
        (
            re.compile(
                r".* (?:--panic-on|--add-port=\d+-\d+\S*|--set-default-zone=trusted)(?: .*)?"
            ),
            _NETWORK,
        ),
    ),
    **dict.fromkeys(
        ("systemctl", "service", "rc-service"),
        (
            (re.compile(rf".* (?:stop|disable|mask|kill)\b.* {_DEFENCES}(?: .*)?"), _NETWORK),
            (re.compile(rf".* {_DEFENCES} stop"), _NETWORK),
            (re.compile(r".* (?:kill|stop|disable|mask) (?:.* )?\*(?: .*)?"), _KERNEL),
        ),
    ),
    # The tools of such services.
    **dict.fromkeys(
        (
            *(
                "fail2ban-client",
                "falconctl",
                "sentinelctl",
                "mdatp",
                "wazuh-control",
                "ossec-control",
            ),
            *(
                "cscli",
                "usbguard",
                "osqueryctl",
                "elastic-agent",
                "auditbeat",
                "crowdsec",
                "sophosctl",
            ),
        ),
        (
            (
                re.compile(
                    r".* (?:stop|disable|off|unload|uninstall|unprotect|shutdown|unban --all|rule-clear)(?: .*|$)"
                    r"|.* set-parameter ImplicitPolicyTarget allow|.* config .*(?:disabled|false|off)(?: .*|$)"
                ),
                _NETWORK,
            ),
        ),
    ),
    # Without rules everybody is let in, or nobody.
    **dict.fromkeys(
        ("iptables-restore", "ip6tables-restore", "ebtables-restore", "arptables-restore"),
        ((re.compile(r".* /dev/null"), _NETWORK),),
    ),
    **dict.fromkeys(
        ("x11vnc", "x0vncserver", "vncserver", "wayvnc"),
        (
            (
                re.compile(
                    r"(?!.* -localhost).* (?:-nopw|-SecurityTypes[ =]None|--SecurityTypes[ =]None)(?: .*|$)"
                ),
                _NETWORK,
            ),
        ),
    ),
    **dict.fromkeys(
        ("fwupdmgr", "fwupdtool", "nvmupdate64e", "mstflint", "flint", "fw_update"),
        (
            (
                re.compile(
                    r"fwup\w+ (?:install|downgrade|install-blob|reinstall) (?=(?:.* )?--(?:force|allow-\w+)).*"
                    r"|(?:mst)?flint .* (?:-y|burn|b)(?: .*|$)"
                ),
                DISK,
            ),
        ),
    ),
    "chsh": ((re.compile(r".*/(?:false|nologin)(?: .*)?"), ACCOUNTS),),
    "dmesg": ((re.compile(r".* (?:-C|-c|--clear|--read-clear)(?: .*)?"), _LOGS),),
    "csrutil": ((re.compile(r".* (?:disable|clear)(?: .*)?"), _NETWORK),),
    "spctl": ((re.compile(r".* --(?:master|global)-disable(?: .*)?"), _NETWORK),),
    **dict.fromkeys(("aa-teardown", "aa-disable", "aa-complain"), ((re.compile(r".*"), _NETWORK),)),
    "mokutil": ((re.compile(r".* --disable-validation(?: .*)?"), _NETWORK),),
    "bpftool": (
        (re.compile(r".* (?:prog|map|cgroup) (?:load|attach|update|delete)\b.*"), _KERNEL),
    ),
    "timedatectl": ((re.compile(r".* set-(?:time|ntp)\b.*"), _KERNEL),),
    "hostnamectl": ((re.compile(r".* (?:set-hostname|hostname) \S+"), _KERNEL),),
    **dict.fromkeys(
        ("update-alternatives", "alternatives"),
        ((re.compile(r".* --(?:set|install|remove|force)\b.*"), _KERNEL),),
    ),
    "launchctl": (
        (re.compile(r".* (?:load|bootstrap|enable) .*Launch(?:Daemons|Agents)/.*"), ACCOUNTS),
    ),
    "wevtutil": ((re.compile(r"(?i).* (?:cl|clear-log) .*"), _LOGS),),
    "fuser": ((re.compile(r".* -\w*k\w*(?: .*)? (?:/|/home|/usr|/var)/?"), _KILLS),),
    "route": (
        (re.compile(r".* (?:del|delete|flush|add default|change default)(?: .*)?"), _NETWORK),
    ),
    **dict.fromkeys(("ifdown", "wondershaper"), ((re.compile(r".* \S+"), _NETWORK),)),
    "resolvectl": ((re.compile(r".* (?:dns|domain|revert) \S+ \S+.*"), _NETWORK),),
    "scutil": ((re.compile(r".* --(?:set|dns).*"), _NETWORK),),
    "networksetup": (
        (
            re.compile(r".* -set(?:dnsservers|networkserviceenabled|airportpower|manual)\b.*"),
            _NETWORK,
        ),
    ),
    "tc": (
        (
            re.compile(r".* qdisc (?:add|replace|change) .*(?:loss (?:[5-9]\d|100)%|blackhole).*"),
            _NETWORK,
        ),
    ),
    "hwclock": ((re.compile(r".* (?:--set|--systohc|-w)\b.*"), _KERNEL),),
    "umount": ((re.compile(r".* -\w*a\w*(?: .*)?"), DISK),),
    **dict.fromkeys(
        ("gdb", "lldb", "strace", "reptyr", "ptrace"),
        ((re.compile(r".* (?:-p ?|--pid[= ]|--attach-pid[= ])1(?: .*)?"), _KILLS),),
    ),
    "pg_resetwal": ((re.compile(r"pg_resetwal (?!.*(?:-n|--dry-run)\b).*"), CLOUD),),
    **dict.fromkeys(
        ("update-initramfs", "dracut", "mkinitcpio"),
        ((re.compile(r"update-initramfs .*-d.*|dracut .*--force.*/boot/.*"), _KERNEL),),
    ),
    **dict.fromkeys(
        ("grub-install", "grub2-install", "bootctl", "lilo", "extlinux"),
        (
            (
                re.compile(
                    r"(?:grub2?-install|lilo|extlinux) .*|bootctl .*(?:remove|unlink|install).*"
                ),
                DISK,
            ),
        ),
    ),
    **dict.fromkeys(
        ("zramctl", "losetup"), ((re.compile(r".* (?:-D|--detach-all|--reset)(?: .*)?"), DISK),)
    ),
    "crontab": ((re.compile(r".* /dev/null"), _KERNEL),),
    **dict.fromkeys(
        ("depmod", "kmod", "dkms"),
        ((re.compile(r".* (?:unload|remove .*--all|rmmod).*"), _KERNEL),),
    ),
    "ethtool": ((re.compile(r".* -E .*|.* --change-eeprom .*"), DISK),),
    "pfctl": ((re.compile(r".* -(?:d|F)(?: .*)?"), _NETWORK),),
    "hostname": ((re.compile(r"hostname [\w.]\S*|.* (?:-F|--file|-b)\b.*"), _KERNEL),),
    **dict.fromkeys(
        ("netsh", "netsh.exe"),
        ((re.compile(r"(?i).* (?:advfirewall|firewall) .*(?:off|disable).*"), _NETWORK),),
    ),
    **dict.fromkeys(("reg", "reg.exe"), ((re.compile(r"(?i).* delete .*"), _KERNEL),)),
    **dict.fromkeys(
        ("vssadmin", "wbadmin", "wmic"),
        ((re.compile(r"(?i).* delete .*|.* shadowcopy .*delete.*"), CLOUD),),
    ),
    "tmutil": ((re.compile(r".* (?:delete\w*|disable)(?: .*)?"), CLOUD),),
    "nvram": ((re.compile(r".* -[cd](?: .*)?"), _KERNEL),),
    "bcdedit": ((re.compile(r"(?i).* /(?:set|delete).*"), _KERNEL),),
    "net": ((re.compile(r"(?i).* (?:user|localgroup) .*/(?:add|delete).*"), ACCOUNTS),),
    **dict.fromkeys(
        ("dscl", "dseditgroup"),
        ((re.compile(r".* (?:-append|-create|-delete|-passwd|-o edit) .*"), ACCOUNTS),),
    ),
    "slay": ((re.compile(r".*"), _KILLS),),
    "setenforce": ((re.compile(r".* (?:0|[Pp]ermissive)"), _NETWORK),),
    "auditctl": ((re.compile(r".* (?:-D|-e ?0)(?: .*)?"), _NETWORK),),
    "ip": (
        (
            re.compile(
                r".* (?:link|l) del(?:ete)? .*|.* (?:link|l)\b.* down(?: .*)?|.* (?:route|r|addr?\w*|rule|neigh) (?:del|flush).*"
                r"|.* (?:route|r) (?:add|replace|change|append) (?:default|0\.0\.0\.0/0|::/0|blackhole|unreachable)\b.*"
                r"|.* netns del\w* .*|.* xfrm .*flush.*"
            ),
            _NETWORK,
        ),
    ),
    **dict.fromkeys(("ifconfig",), ((re.compile(r".* down"), _NETWORK),)),
    "nmcli": (
        (
            re.compile(
                r".* (?:n\w* off|r\w* (?:all|wifi) off|c\w* (?:down|del\w*|modify) .*|d\w* (?:disconnect|delete|down) .*)"
            ),
            _NETWORK,
        ),
    ),
    "sysctl": (
        (re.compile(r".* (?:-w|--write|-p|--load|--system|[\w./-]+=\S*)(?: .*)?"), _KERNEL),
    ),
    "journalctl": (
        (re.compile(r".* --vacuum-(?!time=\d+(?:d|w|m|y)|size=\d+(?:\d\dM|G|T)).*"), _LOGS),
    ),
    "flashrom": ((re.compile(r".* (?:-w|-E|--write|--erase)(?: .*)?"), DISK),),
    "efibootmgr": (
        (re.compile(r".* (?:-B|--delete-bootnum|-O|--delete-bootorder)(?: .*)?"), DISK),
    ),
    **dict.fromkeys(
        ("kubectl", "oc"),
        (
            (re.compile(r".* debug (?:.* )?node/.*"), RIGHTS),
            (re.compile(r".* create clusterrolebinding .*cluster-admin.*"), RIGHTS),
            (re.compile(r".* run (?=.*(?:hostPID|privileged|hostPath)).*"), RIGHTS),
        ),
    ),
    "aws": (
        (re.compile(r".* iam create-access-key .*--user-name[ =]root.*"), ACCOUNTS),
        (re.compile(r".* attach-(?:user|role|group)-policy .*AdministratorAccess.*"), ACCOUNTS),
        (
            re.compile(
                r".* authorize-security-group-ingress (?=.*(?:protocol[ =](?:all|-1)|port[ =]0-65535)).*0\.0\.0\.0/0.*"
            ),
            _NETWORK,
        ),
        (
            re.compile(
                r".* put-bucket-policy (?=.*\"Allow\")(?=.*\"Principal\"\s*:\s*(?:\{\s*\"AWS\"\s*:\s*)?\"\*\")"
                r"(?=.*\"Action\"\s*:\s*\[?\"(?:s3:)?\*\").*"
            ),
            _EVERYBODY,
        ),
        (re.compile(r".* put-(?:bucket|object)-acl .*public-read-write.*"), _EVERYBODY),
        (re.compile(r".* cloudtrail (?:stop-logging|delete-trail)(?: .*|$)"), _LOGS),
    ),
    **dict.fromkeys(
        ("gcloud", "gsutil"),
        (
            (
                re.compile(
                    r"(?i).*(?:allUsers|allAuthenticatedUsers).*(?:admin|owner|editor|writer|creator).*"
                    r"|.*(?:admin|owner|editor|writer|creator).*(?:allUsers|allAuthenticatedUsers).*"
                    r"|gsutil .*public-read-write.*"
                ),
                _EVERYBODY,
            ),
        ),
    ),
    # Every later command of git would run what anybody can put there.
    "git": (
        (
            re.compile(
                r"(?i)git (?:.* )?config (?=.*--(?:global|system)\b)(?:.* )?(?:core|init|alias|credential|diff|gpg)\.\S+"
                r" !?/(?:tmp|var/tmp|dev/shm)/.*"
                # Nothing of the machine checks any more with whom it talks.
                r"|git (?:.* )?config (?=.*--system\b).*http\.(?:\S+\.)?sslverify (?:false|0|no|off)"
                # It is told every password.
                r"|git (?:.* )?credential\.(?:\S+\.)?helper[ =].*\b(?:curl|wget|nc|ncat|socat|netcat)\b.*"
            ),
            ACCOUNTS,
        ),
    ),
    "zfs": ((re.compile(r"zfs rollback (?=(?:.* )?-\w*[rR]).*"), DISK),),
    "lxc": ((re.compile(r".* device add .* source=/(?: .*)?"), RIGHTS),),
}
