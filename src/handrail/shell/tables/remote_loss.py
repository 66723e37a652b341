"""What deletes clouds, clusters, databases, repositories and backups. Data only.

A verb that deletes together with a thing that holds many others is refused, whoever provides it.
One named object of many (a pod, a file, an instance) is asked about, and so is a command in which
any word names a trial. The words of the command, joined by single blanks, must match as a whole; `FOUND` stands for
arguments that another command lists.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from handrail.shell.tables.word_list import word_set

FOUND: Final = "<found>"
_TRIAL: Final = (
    r"(?!.*(?:^|[\W_])(?:tests?|testing|dev|develop\w*|tmp|temp|ci|local\w*|sandbox|demo|examples?|scratch"
    r"|preview|feature|staging|playground|minikube|pr-?\d+)(?:[\W_\d]|$))"
)
TRIAL: Final = re.compile(_TRIAL, re.IGNORECASE)
_UNASKED: Final = (
    r"(?=.*(?: -q| -y| --quiet| --yes| --force| -f| --auto-approve| -auto-approve| --confirm)\b)"
)
_HOLDERS: Final = (
    r"(?:accounts?|organi[sz]ations?|projects?|subscriptions?|groups?|resource-groups?|tenants?|clusters?"
    r"|databases?|db-[\w-]+|tables?|keyspaces?|buckets?|stacks?|stack-set|vaults?|keyvaults?"
    r"|volumes?|pools?|datasets?|domains?|zones?|hosted-zones?|managed-zones?|sites?|apps?|applications?|repos?"
    r"|repositor(?:y|ies)|droplets?|servers?|linodes?|environments?|file-systems?|user-pools?|vpcs?"
    r"|log-groups?|trails?|cache-clusters?|replication-groups?|nodegroups?|spaces|services?|sql|spanner|aks"
    r"|storage|cosmosdb|kubernetes|k8s|backups?)"
)
_DELETES: Final = r"(?:delete|destroy|terminate|purge|remove|rm|nuke|wipe|erase)"
# `gcloud sql instances delete x`, `hcloud server delete x`, `heroku apps:destroy`, `fly apps destroy`.
_THING_THEN_VERB: Final = rf".*[ :]{_HOLDERS}[ :](?:(?!secret|blob|records?|key|rm)[\w:]+ )?{_DELETES}(?! (?:gs|ss|s3)://| /)(?: .*|$)"
# One machine is asked about, unless nobody is.
_MACHINES: Final = r".* (?:vms?|instances?|machines?) (?:delete|destroy|terminate)(?: .*|$)"
# `eksctl delete cluster x`, `b2 delete-bucket x`, `aws eks delete-cluster`.
_VERB_THEN_THING: Final = rf".* {_DELETES}[- ]{_HOLDERS}(?: .*|$)"

_CLOUDS: Final = word_set("""
    gcloud az doctl hcloud linode-cli vultr-cli scw oci ibmcloud aliyun openstack exo heroku fly flyctl
    netlify railway render wrangler firebase supabase pscale neonctl turso eksctl kops rancher nomad
    consul influx databricks atlas confluent rpk b2 s3cmd s5cmd virsh xe gh glab tea cf dokku copilot
    cockroach mongocli
""")
# Compiled where they are used: `re` keeps what it has compiled.
LOSSES: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(
        _CLOUDS,
        (_TRIAL + _THING_THEN_VERB, _TRIAL + _VERB_THEN_THING, _TRIAL + _UNASKED + _MACHINES),
    ),
    "aws": (
        _TRIAL
        + r".* (?:delete|purge|close)-(?!bucket-)(?:bucket|stack|stack-set|cluster|db-[\w-]+|table|user"
        r"|user-pool|hosted-zone|file-system|repository|domain|vault|account|organization|global-table"
        r"|backup[\w-]*|trail|log-group|vpc|nodegroup|environment|cache-cluster|replication-group)(?: .*|$)",
        r".* schedule-key-deletion .*",
        r".* (?:stop-logging|delete-detector|disable-organization[\w-]*)(?: .*|$)",
        r".* attach-(?:user|role|group)-policy .*AdministratorAccess.*",
        r".* authorize-security-group-ingress (?=.*(?:protocol[ =](?:all|-1)|port[ =]0-65535)).*0\.0\.0\.0/0.*",
    ),
    "gcloud": (
        _TRIAL + _THING_THEN_VERB,
        _TRIAL + _UNASKED + _MACHINES,
        r".* storage rm (?=.*(?: -r| --recursive)).*gs://[^/ ]+/?(?: .*)?",
        r".* storage buckets delete .*",
    ),
    "heroku": (_TRIAL + _THING_THEN_VERB, r".* pg:reset(?: .*|$)"),
    "brew": (rf".* (?:uninstall|remove|rm) (?:.* )?{FOUND}.*",),
    "vercel": (_UNASKED + _TRIAL + r".* (?:rm|remove|project rm) .*",),
    "bq": (r".* rm (?=.*(?:-r|--recursive)).*",),
    "gh": (
        r"gh repo delete .*",
        r"gh api (?=.*(?:-X ?|--method[ =])DELETE)(?:.* )?/?repos/[^/ ]+/[^/ ]+(?: .*)?",
    ),
    "glab": (r"glab (?:repo|project) delete .*",),
    **dict.fromkeys(
        ("terraform", "tofu", "terragrunt", "terramate"),
        (_UNASKED + r".* (?:destroy|run-all destroy|apply (?:.* )?--?destroy)(?: .*|$)",),
    ),
    "pulumi": (_UNASKED + r".* (?:destroy|stack rm)(?: .*|$)",),
    **dict.fromkeys(("cdk", "cdktf", "sst"), (_UNASKED + r".* (?:destroy|remove)(?: .*|$)",)),
    **dict.fromkeys(("sls", "serverless"), (_TRIAL + r".* remove(?: .*|$)",)),
    **dict.fromkeys(
        ("kubectl", "oc"),
        (
            _TRIAL + r".* delete (?:.* )?(?:ns|namespaces?|projects?|nodes?|pv|crds?)[ /].*",
            r"(?=.* --all\b).* delete (?:.* )?(?:pvcs?|persistentvolumeclaims?|all|secrets?|deploy\w*|sts|statefulsets?)\b.*",
            rf".* delete (?:-\S+ )*{FOUND}.*",
            r".* drain (?=.*--force)(?:.* )?(?:--all|-l|--selector)\b.*",
            r".* create clusterrolebinding .*cluster-admin.*",
            r".* run (?=.*(?:hostPID|privileged|hostPath)).*",
        ),
    ),
    "helm": (rf".* (?:uninstall|delete|un|del) (?:.* )?{FOUND}.*",),
    "kubeadm": (_UNASKED + r".* reset(?: .*|$)",),
    "nomad": (r".* (?:job )?stop (?=.*-purge).*(?:\*|<found>).*",),
    "vault": (r".* (?:secrets|auth) disable .*", r".* operator (?:seal|step-down).*"),
    "consul": (r".* kv delete (?=.*-recurse)(?:.* )?/?(?: .*|$)",),
    "etcdctl": (r".* del (?=.*--(?:prefix|from-key))(?:.* )?/?(?: --\S+)*", r".* del .*--range.*"),
    "ceph": (r".* (?:osd pool (?:delete|rm)|fs rm|osd purge) .*",),
    **dict.fromkeys(("rbd", "rados"), (r".* (?:rmpool|purge) .*",)),
    "mc": (r".* (?:rb|rm) (?=.*(?:--force|--recursive)).*",),
    "virsh": (r".* (?:undefine .*--remove-all-storage|pool-delete|vol-wipe|vol-delete).*",),
    **dict.fromkeys(("qm", "pct"), (r".* destroy .*",)),
    "restic": (
        r".* forget (?=.*--prune).*(?:--keep-last[ =]0|--tag ).*",
        r".* forget .*--unsafe-allow-remove-all.*",
    ),
    "borg": (r"borg delete (?!.*::).*",),
    "velero": (r".* backup delete .*--all.*",),
    "npm": (r"npm unpublish .*--force.*",),
    "docker": (
        r".* system prune (?=.*--volumes).*",
        r".* volume prune (?=.*(?:-a|-af|-fa|--all)\b).*",
        rf".* volume rm (?:.* )?{FOUND}.*",
    ),
    "git": (
        r"git push (?:.* )?(?:--delete|-d) (?:.* )?(?:main|master|trunk|production|release|<found>)(?: .*|$)",
        r"git push (?:.* )?:(?:refs/heads/)?(?:main|master|trunk|production)(?: .*|$)",
        r"git push(?=.* (?:-f|--force)\b)(?=.* --mirror\b).*",
        r"git push (?:.* )?--mirror .*(?:://|@).*",
    ),
    # Databases.
    "dropdb": (_TRIAL + r"dropdb (?=.*(?:prod|-h |--host)).*",),
    "mysqladmin": (_TRIAL + r".* drop .*",),
    **dict.fromkeys(
        ("redis-cli", "valkey-cli", "keydb-cli"),
        (r".* (?:flushall|debug segfault|shutdown)(?: .*|$)",),
    ),
    **dict.fromkeys(("mongo", "mongosh"), (_TRIAL + r".*\.dropDatabase\(.*",)),
    **dict.fromkeys(
        ("curl", "http", "xh"),
        (
            r"(?=.*(?:-X ?|--request[ =]|\b)DELETE\b).*(?::9200|elastic\S*|opensearch\S*)/(?:_all|\*)[\"']?(?: .*|$)",
        ),
    ),
    **dict.fromkeys(
        ("kafka-topics", "kafka-topics.sh"), (r".* --delete (?=.*--topic[ =][\"']?\.?\*).*",)
    ),
    **dict.fromkeys(("rabbitmqctl",), (r".* (?:reset|force_reset|delete_vhost .*)",)),
    **dict.fromkeys(
        ("rails", "rake"), (r"(?=.*(?:production|DISABLE_DATABASE)).*db:(?:drop|reset|purge).*",)
    ),
}
# Clients that take SQL, or something like it, as an argument or on standard input.
SQL_CLIENTS: Final = word_set("""
    psql mysql mariadb sqlcmd mssql-cli cqlsh clickhouse-client clickhouse influx snowsql snow cockroach
    usql pgcli mycli bq trino presto beeline impala-shell hive db2 sqlplus isql vsql duckdb
""")
DROPS: Final = re.compile(
    r"(?is)\b(?:drop|delete)\s+(?:database|schema|keyspace|owned)\s+(?:if\s+exists\s+)?"
    r"(?![`\"']?\w*(?:test|dev|tmp|temp|sandbox|demo|scratch))[`\"'\w]"
)
# Whole tables of a database that is in use.
EMPTIES: Final = re.compile(
    r"(?is)\b(?:drop\s+table|truncate(?:\s+table)?\s+\w|delete\s+from\s+[\w.`\"]+\s*(?:;|$))"
)
IN_USE: Final = re.compile(r"(?i)(?:^|[\W_])prod(?:uction)?(?:[\W_]|$)")
