"""How code of any language deletes what services keep: drivers, calls and addresses. Data only."""

from __future__ import annotations

import re
from typing import Final

# Libraries of databases, stores, queues and directories.
DRIVER: Final = re.compile(
    r"(?i)\b(?:psycopg\w*|asyncpg|aiopg|pg8000|py?mysql\w*|aiomysql|mysqldb|mysql2?|mysqli|mariadb|sqlalchemy|databases|peewee|pony|records"
    r"|pymssql|pyodbc|mssql|tedious|cx_oracle|oracledb|pg(?:-promise|-native)?|postgres(?:ql)?|knex|sequelize|typeorm|prisma|sequel|pdo|dbi"
    r"|activerecord|active_record|drivermanager|jdbc|gorm|snowflake|clickhouse\w*|cassandra\w*|neo4j|py2neo|vertica\w*|trino|duckdb"
    r"|pymongo|motor|mongo(?:db|ose|id|client)?|redis\w*|ioredis|valkey|createclient|elasticsearch\w*|opensearch\w*|es_client|solr\w*|meilisearch"
    r"|typesense|algolia\w*|qdrant\w*|weaviate|pinecone|milvus|influxdb\w*|couchdb|rethinkdb|arango|etcd3?|consul|hvac|kazoo|zookeeper"
    r"|pika|amqplib|bunny|kafka\w*|confluent_kafka|pulsar|nats|celery|stomp|ldap3?|ldapjs|net-ldap|imaplib|imapclient|imapflow|net/imap|minio)\b"
)
# Libraries of clouds and clusters: what they talk to is never this machine, unless they are told so.
CLOUD_DRIVER: Final = re.compile(
    r"\b(?:boto3?|aioboto3|botocore|aws-sdk[\w/-]*|Aws::\w+|Google::Cloud|azure|Azure|kubernetes|kubernetes_asyncio|k8s|openstack|hcloud|digitalocean"
    r"|pydo|linode_api4|libcloud|cloudflare|CloudFlare|PyGithub|github|Octokit|octokit|gitlab|pulumi|heroku3|oci|ibm_boto3|tencentcloud|aliyunsdk\w+"
    r"|googleapiclient|Jenkins\.(?:instance|get\(\))|firebase[_-]admin|stripe|okta|auth0|pyVmomi|proxmoxer|cloudinary|b2sdk|software\.amazon\.awssdk)\b"
    r"|@(?:aws-sdk|azure|google-cloud|kubernetes|octokit|pulumi)/|google[.-]cloud|com\.amazonaws"
)
# Nothing but a stand-in, or a file, is changed.
STAND_IN: Final = re.compile(
    r"\b(?:moto|mock_\w+|fakeredis|mongomock|mongodb_memory_server|mongodb-memory-server|testcontainers|localstack|unittest|pytest|sqlite\w*|ioredis-mock)\b"
)
# One call takes all that a database, an index or a queue holds.
EMPTIES_STORE: Final = re.compile(
    r"\.?(?:drop_?[dD]atabase|flush_?[aA]ll|flush_?[dD][bB]|drop_?[cC]ollection|drop_?[aA]ll(?:_tables)?|delete_?[tT]opics?|purge_?[qQ]ueue|queue_?[pP]urge"
    r"|queue_?[dD]elete|delete_?[qQ]ueue|delete_?[aA]ll(?:_documents|Documents)?|delete_?[cC]ollection|delete_?[iI]ndex|deleteIndices|destroy_all|truncate_?\w*)\s*[!(]"
    r"|\.dropDatabase\b|\b(?i:flushall|flushdb)\b|\.delete_?(?:many|Many)\(\s*(?:\{\s*\})?\s*\)|\.drop\(\s*\)|\bdatabase\.drop\b"
    r"|indices\.delete\(|delete_?by_?query\([^)]*match_?all|(?i:\bdelete\b[^;\n]{0,80}?\brecursive\s*[=:]\s*true)"
    # Every message of a mailbox.
    r"|(?s:[\"'](?:ALL|1:\*)[\"'].{0,400}?\\+[dD]eleted)|messageDelete\(\s*[\"'{]*(?:1:\*|all)"
)
_VERBS: Final = r"(?:delete|drop|terminate|destroy|purge|remove|deregister)"
_THINGS: Final = (
    r"(?:account|bucket|cluster|database|db|table|stack|volume|snapshot|instance|vm|machine|server|droplet|namespace|node|vault|zone|domain"
    r"|repo|repository|project|resource-group|user-pool|file-system|hosted-zone|key-ring|queue|topic|stream|role|user|group|organization"
    r"|backup|recovery-point|distribution|function|container|share|dataset|registry|log-group|trail|app|site|service|deployment"
    r"|secret|pool|network|vpc|subnet|load-balancer|record|collection)"
)
# `client.delete_bucket(`, `new TerminateInstancesCommand(`; the code with `-` between its words.
DELETES_RESOURCE: Final = re.compile(
    rf"(?i)(?<![\w-]){_VERBS}-(?:[a-z0-9]+-){{0,5}}?{_THINGS}(?:e?s)?(?:-command|-async|-request|-and-wait)?\s*\("
    rf"|(?<![\w-])(?:begin-delete|schedule-key-deletion|delete-collection-[\w-]+|delete-namespaced-(?!pod|job)[\w-]+)\s*\("
)
# Everything in a bucket, or every machine that a query finds.
DELETES_FOUND: Final = re.compile(
    r"\.object_versions\.(?:all\(\)\.|filter\([^)]*\)\.)?delete\(|\.objects(?:\.all\(\))?\.delete\(|\binstances(?:\.all\(\)|\.filter\([^\n]*\))?\.(?:terminate|delete)\("
    r"|\bbucket\.(?:delete|clear!?|delete!)\b|\b[bB]ucket\([^)]*\)\.delete\b|deleteFiles\(|recursiveDelete\("
    r"|\.(?:delete|terminate|destroy)\(\)\s+for\b(?![^\n]*Prefix)"
    # Each that a list has.
    r"|\b(?:each|forEach|find_each|map)\b[^;\n]{0,60}?[.:](?:delete|destroy|terminate|remove)\w*"
)
CAMEL_CASE: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_")
# A loop around it: each of a list, not one.
LOOPS: Final = re.compile(
    r"\bfor\b|\bforeach\b|\.(?:forEach|each|map|flatMap|paginate)\b|\bwhile\b"
)
# One deletion for each of what another request lists.
DELETES_ADDRESS: Final = re.compile(
    r"\b(?:requests|httpx|session|client|axios|got|http|s|r|api|superagent|ky|faraday|conn|HTTParty|RestClient|\w*[cC]lient|\w*[sS]ession)\.delete\("
    r"|(?i:method[\"']?\s*(?::|=>?)\s*[\"']delete[\"'])|Net::HTTP::Delete|CUSTOMREQUEST\s*,\s*[\"']DELETE|\.request\(\s*[\"']DELETE[\"']|http\.MethodDelete"
)
LISTS_ADDRESS: Final = re.compile(
    r"\.get\(|\bfetch\(|urlopen|Net::HTTP\.get|file_get_contents|curl_exec|\.json\(|http\.Get\("
)
# What is cleaned up every day.
KEPT_A_WHILE: Final = re.compile(
    r"(?i)/(?:runs|artifacts?|caches?|sessions?|previews?|notifications?|jobs|deployments/preview|pipelines|tags)\b"
)
_HOST: Final = r"(?:[\w-]+\.)+(?:com|org|net|io|dev|app|cloud|internal|corp|intra|lan|eu|de|uk|co|us|fr|nl|ch|ai|tech|systems|prod)\b"
# The address of another machine, in a text of the code.
REMOTE_ADDRESS: Final = re.compile(
    rf"[\"'=@/]{_HOST}(?!/[\w.]*\.(?:py|js))|(?<![\d.])(?!127\.|0\.0\.0\.0|169\.254\.)\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?![\d.])"
)
ASSIGNMENTS: Final = re.compile(r"(?:\w+=\S++\s++)+")
# `process.env.PROD_DATABASE_URL`.
NAMES_PRODUCTION: Final = re.compile(
    r"(?:process\.env|environ|\bENV|getenv|env\.get)\W{1,4}(?:\w*_)?PROD(?:UCTION)?(?:_|\b)"
)
MAIL_USER: Final = re.compile(r"(?<=[\"'<])[\w.+-]+@(?=[\w-]+\.)")
# What is only shown is not done.
PRINTED: Final = re.compile(
    r"\b(?:print(?:ln|f)?|puts|echo|console\.log|say)\s*\(?\s*(?:\"[^\"\n]*\"|'[^'\n]*')\s*(?=[);\n]|$)"
)
TEXTS: Final = re.compile(r"\"\"\"(.*?)\"\"\"|\"([^\"\n]*)\"|'([^'\n]*)'|`([^`]*)`", re.DOTALL)
