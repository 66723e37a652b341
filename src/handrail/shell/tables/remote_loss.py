"""What deletes clouds, clusters, databases, repositories and backups. Data only.

A verb that deletes together with a thing that holds many others is refused, whoever provides it.
One named object of many (a pod, a file, an instance) is asked about, unless it is in production; a
trial by its name is asked about, too. `FOUND` stands for arguments that another command lists.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain
from typing import Final

from handrail.shell.tables import data_stores
from handrail.shell.tables.word_list import word_set

FOUND: Final = "<found>"
# Stands at the end of a command that another one gives its arguments (xargs).
LISTED: Final = "<listed>"
# The name of a resource that is meant to be deleted again, or of this machine.
TRIAL: Final = re.compile(
    r"(?i)(?:^|[\W_])(?:tests?|testing|dev|develop\w*|tmp|temp|ci|local\w*|127\.0\.0\.1|sandbox|demo|(?<!\.)(?<!dc=)examples?(?!\.(?:com|org|net)\b)"
    r"|scratch|preview|feature|staging|playground|minikube|pr-?\d+)(?:[\W_\d]|$)"
)
IN_USE: Final = re.compile(r"(?i)(?:^|[\W_])prod(?:uction)?(?:[\W_\d]|$)")
# Options whose value names the resource, what holds it, or the machine it is on.
_NAMING: Final = (
    r"(?i)--?(?:[\w-]+-)?(?:names?|ids?|identifier|bucket|table|stack|cluster|database|db|dbname|app|site"
    r"|project|stage|group|env|environment|namespace|context|repository|vault|host|hostname|server|url|uri"
    r"|endpoints?|addr|confirm|target)|--(?:(?:env|var)-)?file|--profile"
)
NAMING: Final = re.compile(_NAMING + r"|-[ngdsahSHu]")
# The letters of git are flags. `-f` is the file of a compose project, and means "force" elsewhere.
NAMING_OF_GIT: Final = re.compile(_NAMING)
NAMING_OF_COMPOSE: Final = re.compile(_NAMING + r"|-[ngdsahSHuf]")
# Options without a value, so that the next word is the name.
FLAGS: Final = re.compile(
    r"--?(?:yes|force|quiet|all|no-\w+|recursive|wait|now|verbose|if-exists|purge|cascade|debug|recurse|prefix|from-key|[a-zA-Z])"
)
VERB: Final = re.compile(
    r"(?i)(?=[\w.:-]+\Z)(?:[\w.]+[:-])*(?:delete|destroy|terminate|purge|remove|rm|rb|del|drop|reset|uninstall|un|down|nuke|wipe"
    r"|erase|prune|stop|flushall|flushdb|disable|unregister|forget|expire|abandon|unlink|-?Mrm)(?:vm|medium)?(?:[:_-][\w.:-]+)?"
)
_UNASKED: Final = r"(?=.*(?: -q| -y| --quiet| --yes| --force| -f| --auto-approve| -auto-approve| --confirm| --\S*non-interactive)\b)"
_HOLDERS: Final = (
    r"(?:accounts?|users?|compartments?|tenanc(?:y|ies)|folders?|recovery-points?|organi[sz]ations?|projects?|subscriptions?|groups?|resource-groups?|tenants?|clusters?"
    r"|databases?|db-[\w-]+|tables?|keyspaces?|buckets?|stacks?|stack-set|vaults?|keyvaults?"
    r"|volumes?|pools?|datasets?|domains?|zones?|hosted-zones?|managed-zones?|sites?|apps?|addons?|applications?|repos?"
    r"|repositor(?:y|ies)|droplets?|servers?|linodes?|environments?|file-systems?|user-pools?|vpcs?"
    r"|log-groups?|trails?|cache-clusters?|replication-groups?|nodegroups?|spaces|services?|sql|spanner|aks"
    r"|storage|cosmosdb|kubernetes|k8s|backups?|topics?|queues?|streams?|vhosts?|index(?:es)?|indices|collections?|realms?"
    r"|models?|controllers?|orgs?|registr(?:y|ies)|shares?|subvolumes?|warehouses?|catalogs?|brokers?|key-?rings?|dbs?"
    r"|workspaces?|datastores?|distributions?|load-balancers?|datacenters?|tenants?|snapshots?(?= --)|pubsub|secrets-engine|d1|pg|namespaces?)"
)
# A word that says what kind of thing is deleted.
KIND: Final = re.compile(
    rf"(?i)(?:{_HOLDERS}|instances?|vms?|machines?|ns|namespaces?|nodes?|pv|pvcs?|crds?|all|secrets?|deploy\w*|sts|origin)"
)
_DELETES: Final = r"(?:delete|destroy|terminate|purge|remove|rm|nuke|wipe|erase)"
_MAIN_BRANCH: Final = r"(?:main|master|trunk|production|release)"
# `gcloud sql instances delete x`, `hcloud server delete x`, `heroku apps:destroy`, `fly apps destroy`.
_THING_THEN_VERB: Final = rf".*[ :](?:\w+-)*{_HOLDERS}[ :-](?:(?!secret|blob|records?|key|rm)[\w:]+[ -])?{_DELETES}(?! (?:gs|ss|s3)://| /)(?: .*|$)"
# One machine or disk is asked about, unless nobody is.
_MACHINES: Final = (
    r".* (?:vms?|instances?|machines?|disks?|snapshots?) (?:delete|destroy|terminate)(?: .*|$)"
)
# `eksctl delete cluster x`, `b2 delete-bucket x`, `aws eks delete-cluster`.
_VERB_THEN_THING: Final = rf".* {_DELETES}[- ](?:\w+-)*{_HOLDERS}(?:[ /].*|$)"

_CLOUDS: Final = data_stores.CONTROLLERS
FORGES: Final = frozenset(("gh", "glab", "hub", "tea"))
_ANY_CLOUD: Final = (
    _THING_THEN_VERB,
    _VERB_THEN_THING,
    _UNASKED + _MACHINES,
    r".* \S+ .*--(?:force-delete-)?without-recovery(?: .*|$)",
    r".* --(?:delete|purge|remove|destroy)-all(?:-[\w-]+)?(?: .*|$)",
)
_ALL_OF_A_KIND: Final = rf".*[ :-](?:{_DELETES}|unregister)[ :-](?:.* )?--all(?:-[\w-]+)?(?: .*|$)"
# Each thing of a list; runs and caches of a forge are cleaned up like this every day.
_EACH: Final = rf"(?=.*[ :-]{_DELETES}[ :-]).* {LISTED}"
_EACH_KEPT: Final = rf".* (?:releases?|secrets?|variables?|repos?|projects?|[gs]\w+-keys?) {_DELETES} (?:.* )?{LISTED}"
# What a developer calls the database of the program at hand.
_OWN_DATABASE: Final = r"(?:my_?)?(?:app|db|database)"
_EMPTIED: Final = r"\.(?:drop|deleteMany|remove)\((?:\{\})?\)"
_NOT_HERE: Final = r"(?!.*(?://|@| )(?:localhost|127\.))"
_BUCKET: Final = r"(?:s3|gs|b2|az)://[^/ ]+/?\**(?: .*)?"
_RECURSIVE: Final = r"(?=(?:.* )?(?:-\w*[rR]|--recursive)\b)"
_OWN: Final[Mapping[str, tuple[str, ...]]] = {
    "aws": (
        rf".* s3 rb .*--force.*|.* s3 rm {_RECURSIVE}.*{_BUCKET}",
        # Of instances that another command lists, or of all.
        r".* terminate-instances (?!.*--instance-ids(?: i-[0-9a-f]+)+(?: --|$)).*",
        r".* schedule-key-deletion .*",
        r".* iam (?:delete|detach)-(?:role|user|group|account|login|saml|open-id)\S*(?: .*|$)",
        r".* (?:delete|close|disable|leave)-(?:detector|account|organization|global-table)[\w-]*(?: .*|$)",
    ),
    "az": (r".* delete-batch (?!(?:.* )?--(?:pattern|if-\w+-since)[ =](?!\*(?: |$))).*",),
    **dict.fromkeys(
        (
            "aws-nuke",
            "cloud-nuke",
            "azure-nuke",
            "gcp-nuke",
            "terraform-nuke",
            "ekstrap",
            "awsweeper",
        ),
        (r".* (?:--no-dry-run|--force|-f|--no-prompt)(?: .*|$)",),
    ),
    "gitlab-rake": (r".* (?:gitlab:setup|db:(?:reset|drop|purge|schema:load)\S*)(?: .*|$)",),
    "gitlab-ctl": (r".* (?:cleanse|uninstall)(?: .*|$)",),
    "gcloud": (rf".* storage rm {_RECURSIVE}.*{_BUCKET}", r".* kms keys versions destroy .*"),
    "gsutil": (rf".* rm {_RECURSIVE}.*{_BUCKET}", r".* rb .*"),
    **dict.fromkeys(
        ("s3cmd", "s5cmd", "mc"),
        (
            r".* rb (?=(?:.* )?(?:--force|--recursive|-\w*[fr]\w*)(?: |$)).*",
            rf".* (?:del|rm) {_RECURSIVE}.*",
        ),
    ),
    "doctl": (_UNASKED + r".* (?:delete|rm|destroy)\b.*",),
    "rclone": (r".* purge .*:.*", r".* (?:delete|rmdirs) (?:-\S+ )*[\w-]+:/?(?: .*|$)"),
    "hub": (r"hub delete .*",),
    "railway": (_UNASKED + r".* (?:delete|down)(?: .*|$)",),
    "heroku": (r".* pg:reset(?: .*|$)",),
    "firebase": (r".*:delete (?=.*--all-\w+).*",),
    "aliyun": (_UNASKED + r".* delete\w*instances? .*",),
    "brew": (rf".* (?:uninstall|remove|rm) (?:.* )?{FOUND}.*",),
    "vercel": (_UNASKED + r".* (?:rm|remove|project rm) .*",),
    "bq": (r".* rm (?=.*(?:-r|--recursive)).*",),
    **dict.fromkeys(
        ("terraform", "tofu", "terragrunt", "terramate"),
        (
            _UNASKED + r".* (?:destroy|apply (?:.* )?--?destroy)(?: .*|$)",
            rf".* state rm (?:.* )?{FOUND}.*",
        ),
    ),
    "pulumi": (_UNASKED + r".* (?:destroy|stack rm)(?: .*|$)",),
    **dict.fromkeys(("cdk", "cdktf", "sst"), (_UNASKED + r".* (?:destroy|remove)(?: .*|$)",)),
    **dict.fromkeys(("sls", "serverless"), (r".* remove(?: .*|$)",)),
    **dict.fromkeys(
        ("kubectl", "oc"),
        (
            r".* delete (?:.* )?(?:ns|namespaces?|projects?|nodes?|pv|crds?)[ /].*",
            r".* delete (?:.* )?(?:-n|--namespace)[ =]?kube-system\b.*|.* (?:-n|--namespace)[ =]?kube-system (?:.* )?delete .*",
            r"(?=.* --all\b).* delete (?:.* )?(?:\S+,)?(?:pvcs?|persistentvolumeclaims?|all|secrets?|deploy\w*|sts|statefulsets?|managed|composite|claim)\b.*",
            r"(?=.* delete )(?=.* --all\b).* (?:-A|--all-namespaces)\b.*",
            rf".* delete (?:-\S+ )*{FOUND}.*",
            r".* drain (?=.*--force)(?:.* )?(?:--all|-l|--selector)\b.*",
            rf".* drain (?=.*--force)(?:.* )?{FOUND}.*",
        ),
    ),
    "helm": (rf".* (?:uninstall|delete|un|del) (?:.* )?{FOUND}.*",),
    **dict.fromkeys(("k3s-uninstall.sh", "k3s-agent-uninstall.sh", "rke2-uninstall.sh"), (r".*",)),
    "kubeadm": (_UNASKED + r".* reset(?: .*|$)",),
    "nomad": (r".* (?:job )?stop (?=.*-purge).*(?:\*|<found>).*",),
    "consul": (r".* kv delete (?=.*-recurse)(?:-\S+ ?)*/?(?: .*|$)",),
    "etcdctl": (
        r".* del (?=.*--(?:prefix|from-key))(?:.* )?/?\w*/?(?: --\S+)*",
        r".* del (?:--\S+ )*[\"'/]{0,3} (?=.*--(?:prefix|from-key)).*",
        r".* del .*--range.*",
        r".* (?:snapshot restore|member remove|defrag --cluster) .*",
    ),
    **dict.fromkeys(
        ("flux", "istioctl", "linkerd", "cilium", "longhornctl", "linkerd-viz", "calicoctl"),
        (_UNASKED + r".* uninstall(?: .*|$)|.* uninstall (?=.*(?:-s|--silent|--purge)\b).*",),
    ),
    **dict.fromkeys(("jfrog", "jf"), (r".* (?:rt )?(?:del|delete|repo-delete|rdel)(?: .*|$)",)),
    **dict.fromkeys(("pg_dropcluster", "pg_ctlcluster"), (r"pg_dropcluster .*",)),
    "influx": (r".* delete (?=.*--start[ =]1970).*",),
    "sam": (r".* delete (?=.*--no-prompts).*",),
    "supabase": (r".* db reset (?=.*(?:--linked|--db-url)).*",),
    "juju": (r".* (?:destroy|kill)-(?:controller|model) .*",),
    "govc": (r".* (?:vm\.destroy|datastore\.rm|object\.destroy|pool\.destroy) .*",),
    "talosctl": (r".* reset(?: .*|$)",),
    "cli53": (r".* delete .*",),
    **dict.fromkeys(("crane", "skopeo", "regctl"), (r".* (?:delete|rm) .*",)),
    "ldapdelete": (r".* -r(?: .*|$)", rf".* {LISTED}"),
    "virsh": (r".* (?:undefine .*--remove-all-storage|pool-delete|vol-wipe|vol-delete).*",),
    **dict.fromkeys(("qm", "pct"), (r".* destroy .*",)),
    "npm": (r"npm unpublish .*(?:--force|-f)\b.*",),
    **dict.fromkeys(
        ("docker", "podman", "nerdctl"),
        (
            r".* system prune (?=.*--volumes).*",
            r".* system reset (?=.*(?:-f|--force)\b).*",
            r".* volume prune (?=.*(?:-a|-af|-fa|--all)\b).*",
            r".* swarm leave (?=.*(?:-f|--force)\b).*",
            rf".* (?:volume|service|stack|secret|config) rm (?:.* )?{FOUND}.*",
        ),
    ),
    "git": (
        rf"git push (?:.* )?(?:--delete|-d) (?:.* )?(?:{_MAIN_BRANCH}|<found>)(?: .*|$)",
        rf"git push (?:.* )?:(?:refs/heads/)?(?:{_MAIN_BRANCH}|<found>)(?: .*|$)",
        r"git push(?=.* (?:-f|--force)\b)(?=.* (?:--mirror|--all|--tags|--prune)\b).*",
        # A branch that others build on, with another history.
        rf"git push(?=.* (?:-f|--force)(?: |$))(?: .*)?[ :](?:refs/heads/)?{_MAIN_BRANCH}(?: .*|$)",
        rf"git push(?: .*)? \+(?:[^ ]*[:/])?{_MAIN_BRANCH}(?: .*|$)",
        r"git push(?: .*)? \+(?:refs/(?:heads/)?)?\*(?::[^ ]*)?(?: .*|$)",
    ),
    # Databases.
    "dropdb": (
        r"dropdb (?=.*(?:prod|-h |--host)).*",
        rf"dropdb (?:.* )?(?!-|{_OWN_DATABASE}$)[\w-]{{3,}}",
    ),
    "mysqladmin": (r".* drop .*",),
    **dict.fromkeys(
        ("redis-cli", "valkey-cli", "keydb-cli"),
        (
            r"(?=.* (?:-h|-u|--uri) ).* (?:flushall(?: .*|$)|(?:del|unlink) (?:.* )?<listed>)",
            r"(?=.* (?:-h|-u|--uri) ).* eval\w* .*\bflush(?:all|db)\b.*",
            r".* (?:debug segfault|shutdown)(?: .*|$)",
        ),
    ),
    **dict.fromkeys(
        ("mongo", "mongosh"),
        # Without a name it is the database for trials.
        (
            r".*\.dropDatabase\(.*",
            rf"mongo(?:sh)? (?:-\S+ )*(?!-|{_OWN_DATABASE} )[\w.:/-]+ .*{_EMPTIED}.*",
            rf"(?=.* (?!-|{_OWN_DATABASE}$)[\w.:/-]+$).*{_EMPTIED}[^ ]* [^ ]+",
        ),
    ),
    # Everything that a search engine or another service holds.
    **dict.fromkeys(
        ("curl", "http", "xh", "wget"),
        (
            # Every document of an index.
            rf"(?=.*/_delete_by_query\b){_NOT_HERE}.*\"match_all\".*",
            r"(?=.*(?:-\w*X ?|--request[ =]|\b)DELETE\b).*(?:://[^/ ]+|:9200|elastic\S*|opensearch\S*)/(?:_all|\*)[\"']?(?:\?\S*)?(?: .*|$)",
            # One index of a search engine.
            rf"{_NOT_HERE}(?=.*(?:-\w*X ?|--request[ =]|\b)DELETE\b).*(?::9200|elastic\S*|opensearch\S*)/[\w.*,-]+(?:\?\S*)?(?: .*|$)",
            r"(?=.*(?:-\w*X ?|--request[ =]|\b)DELETE\b).*(?:api\.[^/ ]+|/api)/(?:v\d/)?(?:repos/[^/ ]+|projects|groups|orgs)/[^/ ]+(?: .*|$)",
        ),
    ),
}
_TABLES: Final = (
    *(_OWN, data_stores.BACKUPS, data_stores.QUEUES, data_stores.STORAGE),
    *(data_stores.SERVICES, data_stores.KEYS_AND_HISTORIES),
)
# The words of the command, joined by single blanks, must match one of them as a whole.
# Compiled where they are used: `re` keeps what it has compiled.
LOSSES: Final[Mapping[str, tuple[str, ...]]] = {
    name: (
        *(_ANY_CLOUD if name in _CLOUDS else ()),
        *((_EACH, _ALL_OF_A_KIND) if name in _CLOUDS - FORGES else ()),
        *((_EACH_KEPT,) if name in FORGES else ()),
        *(pattern for table in _TABLES for pattern in table.get(name, ())),
    )
    for name in (*_CLOUDS, *chain(*_TABLES))
}
_CLOUD_VERB: Final = rf".*[ :-]{_DELETES}(?:[ :-].*|$)"
# Refused where production is named: one object may be all that a service needs.
LOSSES_IN_USE: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(_CLOUDS - FORGES - {"aws"}, (_CLOUD_VERB,)),
    "aws": (
        r".* s3 sync (?=.*--delete\b).*",
        rf".* s3 rm {_RECURSIVE}.*",
        r".* change-resource-record-sets (?=.*\baction\W+delete\b).*",
        r".* (?:delete|terminate|purge|deregister)-(?!message|item|object\b|log|tag|metric|alarm)[\w-]+(?: .*|$)",
    ),
    **dict.fromkeys(
        ("docker", "podman", "docker-compose"),
        (
            r"(?=.* down ).* (?:-v|--volumes)(?: .*|$)",
            r".* (?:stack|service|volume|secret|config|context|swarm) (?:rm|remove|down|leave)(?: .*|$)",
        ),
    ),
    **dict.fromkeys(
        ("terraform", "tofu", "terragrunt", "pulumi", "cdk"),
        (r".* (?:workspace|stack) (?:delete|rm|remove)(?: .*|$)",),
    ),
    **dict.fromkeys(
        ("curl", "http", "xh", "wget"),
        (
            r"(?=.*(?:-\w*X ?|--request[ =]|\b)DELETE\b).*://.*",
            r".*(?:/_delete_by_query|/delete_series)\b.*",
        ),
    ),
    **dict.fromkeys(
        ("kubectl", "oc"),
        (
            r".* delete (?!(?:-\S+ )*(?:pods?|po|jobs?|replicasets?|rs|events?|leases?)[ /]).*",
            r".* replace (?=.*--force).*",
            # Nothing is deleted, and nothing is served.
            r".* scale (?=.*--replicas[ =]0\b).*",
        ),
    ),
    "helm": (r".* (?:uninstall|delete|un|del) .*",),
    "dropdb": (r"dropdb .*",),
    **dict.fromkeys(
        ("redis-cli", "valkey-cli", "keydb-cli"), (r".* (?:flushall|flushdb)(?: .*|$)",)
    ),
    **dict.fromkeys(("mongo", "mongosh"), (rf".*{_EMPTIED}.*",)),
    **dict.fromkeys(("rails", "rake", "bundle"), (r".*db:(?:drop|reset|purge|schema:load).*",)),
    "pg_restore": (r".* (?:-c|--clean)(?: .*|$)",),
    "mlflow": (r"mlflow gc(?: .*|$)", _CLOUD_VERB),
}
# The root of a store, or a whole container of it: `dbfs:/`, `hdfs://host/`, `lakefs://repo`.
STORE_ROOT: Final = re.compile(
    r"(?!https?:|file:|git|ssh:)[a-z][a-z0-9+.-]+:(?:/{1,3}|//[^/ ]+/?)\**", re.IGNORECASE
)
REMOVAL: Final = re.compile(
    r"(?:\S+[-.])?(?:rm|rmr|rmdir|remove|delete|del|purge|rmtree|delete-recursive)|--?(?:rm|rmr|delete|remove)"
)
RECURSIVELY: Final = re.compile(
    r"-\w*[rR]\w*|--recursive(?:=true)?|--recurse|rmr|-rmr|purge|rmtree"
)
# A selector of metrics, logs or labels that leaves nothing out.
EVERY_SERIES: Final = re.compile(r"""\{\s*\w+\s*=~\s*["']\.[+*]["']\s*\}""")
DELETES_SERIES: Final = re.compile(
    r"(?is)(?:.*[/ ])?(?:delete|drop|purge|remove)(?:[-_ /?].*|$)|.*(?:/delete_series|/loki/api/v1/delete)\b.*"
)
# All records of a name that may be a whole zone.
ZONE_EMPTIED: Final = re.compile(
    r"(?im)^[ \t]*+(?:update[ \t]++)?del(?:ete)?[ \t]++[\w-]++\.[\w-]++\.?"
    r"(?:[ \t]++(?:\d++[ \t]++)?(?:IN[ \t]++)?ANY)?[ \t\r]*+$"
)
# What a forge keeps for a while, and cleans up every day.
KEPT_A_WHILE: Final = word_set("""
    run runs cache caches codespace codespaces cs pr mr issue label notification artifact artifacts ci
""")
# Rules by which a store deletes its objects, and one that keeps none of them for long.
LIFECYCLE: Final = re.compile(r"(?i)lifecycle|^ilm$|^expire$|management-policy")
# Each word is read once, from its beginning.
EXPIRES_SOON: Final = re.compile(
    r"(?i)(?<![-\w])(?=[-\w]*?(?:expir|delete|age|days))[-\w]++[\"'\s:=,{]++(?:days(?:After\w++)?|age)?[\"'\s:=]*+[0-7]\b"
)
ONLY_SOME: Final = re.compile(
    r"(?i)(?:prefix|matchesPrefix|tags?|key)[\"']?(?:\s*+[:=]\s*+| \s*+)\[?[\"']?[\w./-]"
)
# `aws s3 sync empty s3://data --delete`: the store becomes like a directory with nothing in it.
SYNCS: Final = re.compile(r"sync|rsync|mirror")
DELETES_OTHERS: Final = re.compile(r"--(?:del|remove)[\w-]*(?:=true)?|-d|sync|-\w*R\w*e\w*")
ELSEWHERE: Final = re.compile(r"(?:[\w.-]+@)?[\w.-]+::?(?!\\).*|\w+://.*", re.DOTALL)
# Requests that delete, and what is cleaned up every day.
HTTP_CLIENTS: Final = word_set("curl http https xh xhs wget wget2 curlie httpie")
ASKS_TO_DELETE: Final = re.compile(r"(?:-\w*X ?|--request[ =]|--method[ =]|^|\s)[\"']?DELETE\b")
CLEANED_UP: Final = re.compile(
    r"(?i)/(?:runs|artifacts?|caches?|sessions?|previews?|notifications?|jobs|pipelines|tags|builds)(?:[/?\"'\s]|$)"
)
# Verbs for machines and services, not for entries of a list.
ENDS_SERVICES: Final = re.compile(
    r"(?i)(?=[\w.:-]+\Z)(?:[\w.]+[:-])*(?:destroy|terminate|purge|wipe|nuke|erase)(?:[:_-][\w.:-]+)?"
)
# Programs that keep machines, by their names.
KEEPS_MACHINES: Final = re.compile(r"[\w.-]*(?:vm|cloud|cluster)[\w.-]*|lxc|lxd|xl")
HOLDS_MANY: Final = re.compile(rf"(?i){_THING_THEN_VERB}|{_VERB_THEN_THING}")
# `shopctl delete all`, `search-cli purge --all`.
CONTROL_PROGRAM: Final = re.compile(r"[\w.-]*(?:ctl|cli|admin|adm)(?:\.(?:sh|py))?")
EVERYTHING: Final = re.compile(
    r"(?i)(?:delete|destroy|purge|wipe|drop|erase|remove|flush|nuke|rm|-?-delete) (?:--?all(?:-[\w-]+)?|all|everything|\*|_all)"
    r"|\S+ --(?:delete|purge|drop|wipe|destroy)-(?:all|everything)\S*"
)
# Clients whose target is an address: on another machine others use it.
ADDRESSED: Final = word_set("mongo mongosh redis-cli valkey-cli keydb-cli mlflow")
# Clients that take SQL, or something like it, as an argument or on standard input.
SQL_CLIENTS: Final = word_set("""
    psql mysql mariadb sqlcmd mssql-cli cqlsh clickhouse-client clickhouse influx snowsql snow cockroach
    usql pgcli mycli sqlite3 litecli bq trino presto beeline impala-shell hive db2 sqlplus isql vsql duckdb cypher-shell
""")
# They talk to a cluster or a warehouse that others use, too.
SHARED_CLIENTS: Final = word_set("""
    cqlsh clickhouse-client snowsql snow bq trino presto impala-shell hive beeline vsql
""")
# At the beginning of a statement, or of an argument that has it attached to an option.
_STATEMENT: Final = r"(?is)(?:^|[;\n{(\"]|^-\w|^--[\w-]++=)[^\S\n]*+"
DROPS: Final = re.compile(
    _STATEMENT
    + r"(?:drop|delete)\s++(?:database|schema|keyspace|owned|tablespace|user(?=[^;]{0,200}?\bcascade\b))"
    r"\s++(?:by\s++)?(?:if\s++exists\s++)?[`\"'\[]?([\w.$<-]+)"
    # Every node of a graph.
    r"|(?i:match\s*+\(\s*+(\w++)\s*+\)\s*+(?:detach\s++)?delete\s++\2\s*+(?:;|$))"
)
# Whole tables of a database that is in use.
EMPTIES: Final = re.compile(
    _STATEMENT
    + r"(?:drop\s++table|truncate(?:\s++table)?\s++\w|delete\s++from\s++[\w.`\"]++\s*+(?:where\s++(?:1\s*+=\s*+1|true|1)\s*+)?(?:;|$)"
    # A column of every row.
    r"|update\s++[\w.`\"]++\s++set\s++[\w.`\"]++\s*+=\s*+(?:null|''|default)\s*+(?:;|$))"
)
# Options of such clients whose value is neither a place nor a name.
SQL_VALUES: Final = frozenset(("-U", "-u", "-c", "-e", "-f", "-o", "-P", "-Q", "-q", "-E"))
# The programs with a row in one of these tables.
PROGRAMS: Final = LOSSES.keys() | LOSSES_IN_USE.keys() | SQL_CLIENTS
# They, too, send SQL: `wrangler d1 execute db --command 'drop table x'`.
SENDS_SQL: Final = SQL_CLIENTS | data_stores.CONTROLLERS - FORGES
# An answer that is given before the question.
ANSWER: Final = re.compile(r"(?i)\s*(?:y|yes|delete|destroy|confirm|ok)\s*")
