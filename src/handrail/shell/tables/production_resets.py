"""What empties or rebuilds the data of a program, and what says that production uses it. Data only."""

from __future__ import annotations

import re
from typing import Final

_EMPTIES_MODEL: Final = (
    r"\.(?:delete_all|destroy_all|truncate_all|deleteMany|dropDatabase|drop_all|drop_database)\b"
)
# Words that empty or rebuild what a program keeps; refused where production is named.
RESETS: Final = re.compile(
    r"(?i)(?:db|database|sql|metadata|migrate|migrations?|schema|orm|doctrine|ecto|data|doctrine:\w+|prisma)[:_.-](?>(?:[\w:.-]*?[:_.-])??"
    r"(?:drop|reset|wipe|fresh|purge|truncate|refresh|nuke|flush|clean|clear|destroy))\S*|flush|reset[_-]?(?:db|database|schema|all)|(?:site|content|catalog|store)[:_-]empty"
    r"|drop[_-]?(?:db|database|all|tables?|schema)?|truncate|wipe|purge|nuke|destroy(?:[_:-]\w+)?|delete[_-]all|tear-?down|erase"
    r"|flyway:clean|downgrade:base|migrate:zero|--(?:force-)?reset|(?:\w[\w-]*[:_-])?delete|.*\.all\(\)\.delete\(.*"
    rf"|.*{_EMPTIES_MODEL}.*|.*\.truncate\b.*"
)
# Every row of a table, in code that a console reads.
EMPTIES_MODEL: Final = re.compile(_EMPTIES_MODEL + r"|\.all\(\)\.delete\(")
# Every migration is taken back: what migrates, the step back, and how far.
MIGRATES: Final = re.compile(
    r"(?is)(?:.*[:_.-])?(?:db|schema|migrat[^\W_]*+)(?:[:_.-].*)?|knex|sequelize\S*|goose|dbmate|typeorm|mikro-orm"
    r"|flyway|liquibase|phinx|diesel|sqlx|artisan|doctrine\S*|ecto\S*|alembic|tern|atlas"
)
TAKES_BACK: Final = re.compile(
    r"(?i)(?:[\w.-]+:)*(?:rollback|down|downgrade|undo|revert|down-to|zero|unapply|reset)(?::\w+)?"
)
THE_START: Final = re.compile(
    r"(?i)--?all|all|0|zero|base|--(?:to|step|target)=(?:0|all)|.*:undo:all"
)
# Programs that print statements which empty every table: `manage.py sqlflush`.
PRINTS_FLUSH: Final = re.compile(r"sql(?:flush|clear|reset)|--to-empty|--to-schema-empty")
PRODUCTION: Final = re.compile(r"(?is)(?:.*[^a-z])?prod(?:uction)?(?:[^a-z].*)?")
# What is kept only to be quicker is made again.
MADE_AGAIN: Final = re.compile(r"(?i)cache|css|dns|assets|rewrite|session|transient|cdn")
# A database on another machine by its address.
REMOTE_DATABASE: Final = re.compile(
    r"(?i)(?:.*=)?(?:jdbc:)?(?:postgres(?:ql)?|mysql|mariadb|sqlserver|oracle|mongodb(?:\+srv)?|redis|cockroachdb|db2)[\w+:]*:"
    r"(?:thin:)?/?/?@?(?:[^@/\s]*@)?(?!localhost|127\.)[\w-]+(?:\.[\w-]+)+(?:[:/].*)?"
)
# A site that is served from the machine.
SERVED_SITE: Final = re.compile(r"(?:--?[\w-]+=)?/(?:var/www|srv|usr/share/nginx)/.+")
EMPTIES_DATABASE: Final = re.compile(
    r"(?i)(?:db|database|sql|schema|migrate|drop)[:_-](?:drop|reset|wipe|fresh|purge|truncate|destroy|clean|all)(?:[:_-].*)?"
    r"|flyway:clean|--(?:force-)?reset"
)
