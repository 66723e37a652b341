"""What deletes backups, queues, volumes, keys and histories, by the program that keeps them. Data only.

Each pattern must match the words of a command, joined by single blanks, as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from handrail.shell.tables.word_list import word_set

# They control clouds, platforms, clusters, brokers or databases that others use: a verb that deletes
# together with a thing that holds many others is refused for all of them.
CONTROLLERS: Final = word_set("""
    aws gcloud az doctl hcloud linode-cli vultr-cli scw oci ibmcloud aliyun openstack exo heroku fly flyctl
    netlify ntl railway render wrangler firebase supabase pscale neonctl neon turso eksctl kops rancher nomad
    consul influx databricks atlas confluent rpk b2 s3cmd s5cmd virsh xe gh glab hub tea cf dokku copilot argocd
    cockroach mongocli ovhcloud civo upctl yc ionosctl stackit tccli metal koyeb northflank platform upsun terminus
    acquia amplify appwrite nhost upstash avn aiven astra ccloud pulsar-admin pulsarctl nats kaf airflow prefect
    talosctl clusterctl vcluster juju maas govc salt-cloud bosh waypoint flarectl cli53 auth0 okta kcadm.sh kcadm
    infisical akeyless crane skopeo regctl oras sentry-cli ossutil obsutil coscmd swift neo4j-admin gluster incus
    velero longhornctl snow fauna xata zeabur deta temporal tctl qovery porter cycle ecs-cli eb elasticbeanstalk
    machinectl linkerd istioctl harbor jfrog jf nexus dbaas doppler op rclone gitlab-runner
""")
_ALL: Final = r"(?: .*)? (?:--?(?:\w+-)*all(?:-[\w-]+)?|all|everything|\*)(?: .*|$)"
_DELETES: Final = r"(?:delete|destroy|remove|rm|purge|forget|erase|wipe|nuke|drop)"
# A retention that keeps nothing.
_KEEPS_NOTHING: Final = (
    r"(?=.*--(?:keep-\w+|retention|full-if-older-than)[ =]0[hdwmy]?\b)(?!.*--keep-\w+[ =][1-9])"
)

BACKUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "borg": (
        r"borg (?:--\S+ )*delete (?!.*::).*",
        rf"{_KEEPS_NOTHING}.* prune .*",
        rf".* delete {_ALL}",
    ),
    "restic": (
        rf"{_KEEPS_NOTHING}.* forget .*",
        r".* forget (?=.*--prune).*--tag .*",
        r".* forget .*--unsafe-allow-remove-all.*",
    ),
    **dict.fromkeys(("autorestic", "resticprofile", "rustic"), (rf"{_KEEPS_NOTHING}.* forget .*",)),
    "duplicity": (
        r".* remove-older-than 0\w? .*--force.*",
        r".* remove-all-but-n-full 0 .*",
        r".* (?:cleanup|collection-delete) .*--force.*",
    ),
    "duply": (r".* purge\w* .*--force.*",),
    "kopia": (rf".* snapshot (?:delete|expire){_ALL}", r".* repository (?:delete|disconnect) .*"),
    "tarsnap": (r".* --nuke(?: .*|$)",),
    "rdiff-backup": (r".* --remove-older-than 0\w?.*--force.*",),
    "bup": (r".* (?:rm|gc --unsafe) .*",),
    "rsnapshot": (r"rsnapshot .*delete.*",),
    "timeshift": (r".* --delete-all(?: .*|$)",),
    "snapper": (
        rf".* (?:delete|rm)(?: \S+)* \d+-\d+(?: .*|$)|.* delete-config(?: .*|$)|.* delete{_ALL}",
    ),
    "barman": (r".* delete \S+ (?:all|oldest|latest|first|last)(?: .*|$)",),
    "pgbackrest": (r".* stanza-delete(?: .*|$)", r".* expire .*--repo\d?-retention-full=0.*"),
    **dict.fromkeys(("wal-g", "wal-e"), (r".* delete(?: .*)? (?:everything|--all)(?: .*|$)",)),
    "pg_probackup": (r".* delete (?!.*-i ).*",),
    "velero": (rf".* backup delete{_ALL}", r".* uninstall(?: .*|$)"),
    "proxmox-backup-client": (r".* (?:snapshot|backup) (?:forget|remove) .*",),
    "proxmox-backup-manager": (r".* datastore remove .*",),
    "tmutil": (r".* (?:delete\w*|disable)(?: .*)?",),
    "bconsole": (r".* (?:purge|delete|truncate) (?:volumes?|jobs?|pools?|files|client)\b.*",),
    **dict.fromkeys(("vssadmin", "wbadmin"), (r".* delete .*",)),
}
_BROKER: Final = r"(?=.*--(?:bootstrap-server|zookeeper|broker-list)[ =]).*"
QUEUES: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(
        ("kafka-topics", "kafka-topics.sh"),
        (r"(?=.* --topic[ =][\"']?\.?\*).* --delete(?: .*|$)", rf"{_BROKER} --delete(?: .*|$)"),
    ),
    **dict.fromkeys(
        ("kafka-delete-records", "kafka-delete-records.sh"), (r".* --offset-json-file .*",)
    ),
    "kaf": (r".* topic delete .*",),
    "rabbitmqctl": (
        r".* (?:reset|force_reset|delete_vhost .*|(?:delete|purge)_queue .*<(?:found|listed)>)",
    ),
    "rabbitmqadmin": (r".* delete (?:vhost|queue|exchange) .*",),
    **dict.fromkeys(
        ("zkCli.sh", "zkCli", "zookeeper-shell", "zookeeper-shell.sh"),
        (r".* (?:deleteall|rmr) /(?:\w+)?(?: .*|$)",),
    ),
}
STORAGE: Final[Mapping[str, tuple[str, ...]]] = {
    "ceph": (
        r".* (?:osd pool (?:delete|rm)|fs rm|osd purge|osd destroy|auth del|orch rm|fs volume rm) .*",
    ),
    **dict.fromkeys(("rbd", "rados"), (r".* (?:rmpool|purge|snap purge|trash purge) .*",)),
    "radosgw-admin": (r".* (?:bucket|user) rm .*",),
    "gluster": (r".* volume (?:delete|stop|reset) .*",),
    "drbdadm": (r".* (?:wipe-md|down|invalidate\S*)(?: .*|$)",),
    "multipath": (r".* -[Ff](?: .*|$)",),
    "linstor": (
        r".* (?:resource-definition|rd|volume-definition|storage-pool|node) (?:delete|d|lost) .*",
    ),
    "mtd": (r".* (?:erase|write) .*",),
    "stratis": (r".* (?:pool|filesystem) destroy .*",),
    "vdo": (r".* remove(?: .*|$)",),
    "bcachefs": (r".* (?:format|device remove) .*",),
    "bcache": (r".*",),
    "iscsiadm": (r".* --(?:logout|op[ =]delete)(?: .*|$)",),
    "megacli": (r".* -(?:CfgClr|CfgLdDel|LDInit)\b.*",),
    **dict.fromkeys(
        ("storcli", "storcli64", "perccli"), (r".* (?:delete|del|clear|start init)(?: .*|$)",)
    ),
    **dict.fromkeys(("ssacli", "hpssacli"), (r".* delete(?: .*|$)",)),
    "ipmitool": (
        r".* (?:chassis )?power (?:off|cycle|reset|soft)(?: .*|$)",
        r".* sel clear(?: .*|$)",
    ),
    "racadm": (
        r".* (?:racresetcfg|serveraction (?:powerdown|powercycle|hardreset)|systemerase)\b.*",
    ),
    "fastboot": (
        r".* (?:-w|erase|format(?::\S+)?|oem (?:unlock|lock)|flashing (?:unlock|lock)\S*|wipe-super)(?: .*|$)",
    ),
    "heimdall": (r".* (?:erase|format)(?: .*|$)",),
    **dict.fromkeys(
        ("hdfs", "hadoop"),
        (
            r"(?=.* -(?:rm|rmr|expunge)\b).*(?: -r\w*| -rmr)(?: .*)? /(?:[\w*]+)?/?\*?(?: .*|$)",
            r".* namenode .*-format.*",
        ),
    ),
    "swift": (rf".* delete{_ALL}",),
    "ossutil": (r".* rm (?=.*(?:-r|-b|--recursive|--bucket)).*",),
    "azcopy": (
        r"azcopy (?:rm|remove) (?=.*--recursive)(?:.* )?[\"']?https?://[^/ ]+(?:/[^/ ?]*)?/?(?:\?\S*)?(?: .*|$)",
    ),
    "multipass": (rf".* delete{_ALL}",),
    "limactl": (rf".* delete{_ALL}",),
}
# Mail, names, people and virtual machines.
_NEEDED_BY_ALL: Final = (
    r"(?:administrator|admins?|root|krbtgt|domain (?:admins|users|controllers)|enterprise admins)"
)
SERVICES: Final[Mapping[str, tuple[str, ...]]] = {
    "postsuper": (r".* -d ?ALL(?: .*|$)",),
    "qmHandle": (r".* -D(?: .*|$)",),
    # Of every user, or all that one folder holds.
    "doveadm": (
        r"(?=.* expunge )(?=.* (?:-A|-F|-u ?\S*\*)(?: |$)).* all(?: .*|$)",
        r".* expunge (?:.* )?mailbox (?:inbox|\*) all(?: .*|$)",
        r".* mailbox delete (?=.*(?:-A|-u ?\S*\*)(?: |$)).*",
    ),
    "cyradm": (r".* (?:dm|deletemailbox) .*\*.*",),
    "samba-tool": (
        rf".* (?:user|group|computer) (?:delete|remove|disable) {_NEEDED_BY_ALL}(?: .*|$)",
        r".* domain demote(?: .*|$)",
        r".* dns zonedelete(?: .*|$)",
        r".* ou (?:delete|remove) (?=.*--force-subtree-delete).*",
    ),
    **dict.fromkeys(("dsdel", "dsrm"), (r".* [-/]subtree(?: .*|$)",)),
    "ipa": (
        rf".* (?:user|group|role)-(?:del|disable) (?:--\S+ )*{_NEEDED_BY_ALL}(?: .*|$)",
        r".* (?:dnszone|server|idrange|trust)-del .*",
    ),
    "ipa-server-install": (r".* --uninstall(?: .*|$)",),
    "kdb5_util": (r".* destroy(?: .*|$)",),
    **dict.fromkeys(
        ("dsctl", "dsconf"), (r".* (?:remove|backend (?:.* )?delete|delete) .*--do-it.*",)
    ),
    "exim": (r".* -Mrm (?:.* )?<listed>",),
    # Of every user of an organization.
    "gam": (
        r".* all users .*(?:delete|trash|purge|wipe)\b.*",
        r".* (?:delete|suspend) (?:users?|domain) .*<(?:found|listed)>.*",
    ),
    **dict.fromkeys(
        ("kadmin", "kadmin.local"),
        (r".* del(?:ete_)?princ(?:ipal)? (?:-force )?(?:krbtgt|K/M|kadmin)\b.*",),
    ),
    "knife": (rf".* bulk delete .*(?:\.\*|{_ALL}).*",),
    "pdnsutil": (r".* delete-zone .*|.* zone delete .*",),
    "vim-cmd": (r".* vmsvc/destroy(?: .*|$)",),
    "xe": (r".* (?:vm|vdi|sr|pool|host)-(?:destroy|uninstall|forget|declare-dead)(?: .*|$)",),
    "vmrun": (r".* deleteVM .*",),
    **dict.fromkeys(
        ("VBoxManage", "vboxmanage"),
        (r".* (?:unregistervm|closemedium) (?=.*--delete(?:-all)?(?: |$)).*",),
    ),
    "bhyvectl": (r".* --destroy(?: .*|$)",),
    # What no version names any more, where everybody fetches it from.
    "dvc": (
        r"dvc gc (?=(?:.* )?(?:--cloud|-\w*c\w*)(?: |$))(?=(?:.* )?(?:--force|-\w*f\w*)(?: |$)).*",
    ),
}
# Keys, passwords and the history of a repository: nobody can make them again.
KEYS_AND_HISTORIES: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("gpg", "gpg2"), (r".* --delete-secret-(?:keys?|and-public-keys?)(?: .*|$)",)),
    **dict.fromkeys(
        ("pass", "gopass"),
        (r".* (?:rm|remove|delete) (?:-\w+ )+(?:/|\.|<empty>|(?:.* )?<(?:found|listed)>.*)?",),
    ),
    "security": (r".* delete-(?:keychain|identity|certificate)(?: .*|$)",),
    "bw": (r".* purge(?: .*|$)",),
    "vault": (
        r".* (?:secrets|auth) disable .*",
        r".* operator (?:seal|step-down|rekey -init).*",
        r".* kv (?:metadata delete|destroy) .*",
        r".* lease revoke .*-prefix.*",
    ),
    # What others trust cannot be trusted again.
    "certbot": (
        r".* revoke(?: .*)? --(?:delete-after-revoke|non-interactive|reason)\b.*",
        r".* revoke(?: .*)? -n\b.*",
    ),
    **dict.fromkeys(("acme.sh", "lego", "step"), (r".* (?:--revoke|revoke|ca revoke)(?: .*|$)",)),
    "keytool": (r".* -delete .*",),
    "ykman": (r".* reset(?: .*|$)",),
    "tpm2_clear": (r".*",),
    "p4": (r".* obliterate (?=.*-y).*",),
    # The first revision, or all: everything builds on it.
    "hg": (
        r".* (?:strip|debugstrip) (?:.* )?(?:--rev=|-r)?(?:all\(\)|0|0:\S*|:|rev\(0\)|roots?\((?:all\(\))?\))(?: .*|$)",
    ),
    # The whole repository, or what all work is based on.
    "svn": (
        r".* (?:delete|del|remove|rm) (?:.* )?[a-z+]+://[^/ ]+(?:/[^/ ]+)?(?:(?:/\S+)?/(?:trunk|branches|tags))?/?(?: .*|$)",
    ),
    "fossil": (r".* (?:purge|shun) (?:.* )?(?:--all|trunk)(?: .*|$)",),
    "svnadmin": (r".* (?:rmtxns|setrevprop) .*",),
    "git": (
        r"git push (?:.* )?--mirror(?: .*|$)",
        # Nothing can be recovered after the reflog is gone.
        r"git (?:.* )?update-ref -d (?:refs/heads/)?(?:main|master|trunk)(?: .*|$)",
    ),
    "gh": (
        r"gh repo edit (?=.*--visibility[ =]public).*",
        r"gh repo archive (?=.*(?:-y|--yes)\b).*",
        r"gh api (?=.*(?:-X ?|--method[ =])DELETE)(?:.* )?/?(?:orgs/[^/ ]+|repos/[^/ ]+/[^/ ]+)(?:/branches/\S+/protection|/rulesets/\S+)?(?: .*)?",
    ),
    "glab": (
        r"glab (?:repo|project) (?:delete|rm) .*",
        r"glab api (?=.*(?:-X ?|--method[ =])DELETE).*projects/[^/ ]+(?: .*)?",
    ),
}
# They take commands on standard input, one in each line.
CONSOLES: Final = word_set("""
    redis-cli valkey-cli keydb-cli bconsole kadmin kadmin.local virsh zkCli.sh cyradm govc xe hbase ipmitool
    samba-tool nomad consul etcdctl rabbitmqadmin vboxmanage VBoxManage storcli storcli64 pdnsutil
    mongo mongosh zookeeper-shell zookeeper-shell.sh zkCli
""")
# What they list is all that they keep.
EMPTIED_BY_LISTS: Final = word_set("""
    restic borg kopia rustic ipa samba-tool exim velero duplicity snapper barman wal-g xe virsh govc VBoxManage
    ceph rbd rados pdnsutil rabbitmqctl kafka-topics kafka-topics.sh doveadm p4 vim-cmd multipass limactl
""")
