"""Deleting clusters, databases, repositories and whatever else other machines hold.

A pattern says which deletions are refused. The names of what is deleted, and nothing else in the
command, decide whether it is a trial or in production.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from itertools import pairwise
from typing import Final, NamedTuple

from handrail.core.commands import Reason
from handrail.shell.blocklist.deletes import input_sources, wrapping_invocations
from handrail.shell.blocklist.interpreters import interpreter_language
from handrail.shell.blocklist.passed_texts import input_texts
from handrail.shell.blocklist.program_calls import ExpandedCommand, ProgramCall, program_basename
from handrail.shell.expand import UNKNOWN, plain_text
from handrail.shell.tables import remote_loss
from handrail.shell.tables.catastrophes import SHELLS
from handrail.shell.tables.refused_uses import CLOUD, REMOTE_BRANCHES
from handrail.shell.tables.text_arguments import takes_text_as_data

_DOMAIN: Final = re.compile(r"[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}(?::\d+)?", re.IGNORECASE)
_DOMAIN_ADDRESS: Final = re.compile(
    r"\w[\w+]*://(?:[^@/\s]*@)?[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}", re.I
)
# `deleteSite`, as some services call it.
_CAMEL_CASE: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
# `:3000/path` of HTTPie is a port of this machine.
_OWN_PORT: Final = re.compile(r"\A:(?=\d*/|\d+\Z)")
# The patterns look at so many arguments: their time grows with the square of the number.
_MOST_WORDS: Final = 200
_LONGEST_WORD: Final = 200
_LONGEST_CODE: Final = 4_000
_REMOTE_SHELLS: Final = frozenset(
    ("ssh", "mosh", "sshpass", "kubectl", "oc", "heroku", "fly", "flyctl")
)


def find_remote_losses(call: ProgramCall, command: ExpandedCommand) -> Iterator[Reason]:
    """Reasons to refuse what a program deletes on other machines."""
    if call.is_dry_run:
        return
    if _empties_service(call, command):
        yield call.reason(*CLOUD)
        return
    # Whatever is named after the language takes statements of it: `spark-sql`.
    sends_sql = call.name in remote_loss.SENDS_SQL or call.name.endswith("sql")
    if call.name not in remote_loss.PROGRAMS and not sends_sql:
        everything = _deletes_everything(call) or _deletes_each(call, command)
        if everything or _resets_production(call, command):
            yield call.reason(*CLOUD)
        return
    words = _placed(call)
    if remote_loss.NARROWED.search(call.invocation.source):
        words = [one.replace(remote_loss.FOUND, "<some>") for one in words]
    if call.invocation.extra_arguments:
        words += [remote_loss.FOUND, remote_loss.LISTED]
    names = _ResourceNames.among(words, frozenset())
    in_use = names.in_use or _sets_production(call, command)
    elsewhere = _runs_elsewhere(call, command) or (
        call.name in remote_loss.ADDRESSED and any(map(_DOMAIN_ADDRESS.match, words))
    )
    in_use = in_use or (not names.are_trials and elsewhere)
    refused = [] if names.are_trials and not in_use else remote_loss.LOSSES.get(call.name, ())
    further = remote_loss.LOSSES_IN_USE.get(call.name, ()) if in_use else ()
    longest = _LONGEST_CODE if call.name in ("mongo", "mongosh") else _LONGEST_WORD
    joined = " ".join((call.name, *(one[:longest] for one in words)))
    spellings = {joined, _CAMEL_CASE.sub("-", joined)}
    patterns = (*refused, *further)
    if any(re.fullmatch(one, text, re.IGNORECASE) for one in patterns for text in spellings) or (
        _resets_production(call, command)
        or (call.name in remote_loss.FORGES and _deletes_each(call, command))
    ):
        yield call.reason(*(REMOTE_BRANCHES if call.name in ("git", "hg", "svn") else CLOUD))
    elif _empties_storage(call, command) and not names.are_trials:
        yield call.reason(*CLOUD)
    elif sends_sql:
        yield from _find_dropped(call, command)


def _empties_service(call: ProgramCall, command: ExpandedCommand) -> bool:
    """Whether a program, known or not, deletes the root of a store, every series, or a zone."""
    if call.name == "nsupdate":
        texts = input_texts(call.invocation, command)
        return any(map(remote_loss.ZONE_EMPTIED.search, texts))
    words = [_told(one) for one in call.arguments[:_MOST_WORDS]]
    told = [call.name, *words]
    if any(map(remote_loss.EVERY_SERIES.search, words)):
        return any(map(remote_loss.DELETES_SERIES.fullmatch, words))
    roots = [one for one in words if remote_loss.STORE_ROOT.fullmatch(one)]
    return (
        any(not remote_loss.TRIAL.search(one) for one in roots)
        and any(map(remote_loss.REMOVAL.fullmatch, told))
        and any(map(remote_loss.RECURSIVELY.fullmatch, told))
    )


def _empties_storage(call: ProgramCall, command: ExpandedCommand) -> bool:
    """Whether a store of objects is told to expire all of them soon, or to become like nothing."""
    words = [_told(one) for one in call.arguments[:_MOST_WORDS]]
    texts = [*words, *input_texts(call.invocation, command), " ".join(words)]
    if any(map(remote_loss.LIFECYCLE.search, words)):
        soon = (one for one in texts if remote_loss.EXPIRES_SOON.search(one))
        return any(remote_loss.ONLY_SOME.search(one) is None for one in soon)
    synced = any(map(remote_loss.SYNCS.fullmatch, words))
    source = any(map(remote_loss.NOTHING.fullmatch, words))
    return synced and source and any(map(remote_loss.DELETES_OTHERS.fullmatch, words))


def _placed(call: ProgramCall) -> list[str]:
    """The arguments, with the name of this machine where HTTPie lets it be left out."""
    words = [_told(one) for one in call.arguments[:_MOST_WORDS]]
    if call.name not in ("http", "xh"):
        return words
    return [_OWN_PORT.sub("localhost:", one) for one in words]


def _told(field: str) -> str:
    if UNKNOWN not in field:
        return plain_text(field)
    # `git push origin :NAME` deletes what is named.
    return f":{remote_loss.FOUND}" if field.startswith(":") else remote_loss.FOUND


def _sets_production(call: ProgramCall, command: ExpandedCommand) -> bool:
    """`RAILS_ENV=production`, and a place that a variable names: `$PROD_URL`."""
    invocation = call.invocation
    around = wrapping_invocations(invocation, command.flat.invocations)
    assigned = [one for each in (invocation, *around) for one in each.assignments]
    given = [f"{one.name}={one.value.source}" for one in assigned if one.value]
    places = [one.source for one in invocation.words[1:] if one.source.lstrip('"')[:1] == "$"]
    return any(map(remote_loss.IN_USE.search, (*given, *places)))


def _runs_elsewhere(call: ProgramCall, command: ExpandedCommand) -> bool:
    """Whether another machine runs the program, and nothing says that it is for trials."""
    around = call.invocation.wrapped_by
    if _REMOTE_SHELLS.isdisjoint(around):
        return False
    carriers = [
        one
        for one in command.flat.invocations
        if program_basename(one.program or "") in _REMOTE_SHELLS and one is not call.invocation
    ]
    told = [word.value or "" for one in carriers for word in one.words[1:]]
    return not any(map(remote_loss.TRIAL.search, told))


def _resets_production(call: ProgramCall, command: ExpandedCommand) -> bool:
    """Whether any program empties what production uses: `manage.py flush --settings=prod`."""
    language = interpreter_language(call.name)
    if takes_text_as_data(call.name) and (language is None or language in SHELLS):
        return False
    words = [_told(one) for one in call.arguments[:_MOST_WORDS]]
    # `migrate reset` is `migrate:reset` of another program.
    told = [call.name, *(one for one in words if not one.startswith("-"))]
    pairs = [f"{one}:{after}" for one, after in pairwise(told)]
    resets = [one for one in (*words, *pairs) if remote_loss.RESETS.fullmatch(one)]
    back = (remote_loss.MIGRATES, remote_loss.TAKES_BACK, remote_loss.THE_START)
    if all(any(map(one.fullmatch, (call.name, *words))) for one in back):
        resets.append("rollback")
    resets += filter(remote_loss.DROPS.search, input_texts(call.invocation, command))
    if not resets or any(map(remote_loss.MADE_AGAIN.search, words)):
        return False
    named = (one for one in words if " " not in one and one not in resets)
    return any(map(remote_loss.PRODUCTION.fullmatch, named)) or (
        _sets_production(call, command) or _runs_elsewhere(call, command)
    )


def _deletes_everything(call: ProgramCall) -> bool:
    """Whether a client or control program, known or not, deletes all that its service keeps."""
    if remote_loss.CONTROL_PROGRAM.fullmatch(call.name) is None or takes_text_as_data(call.name):
        return False
    words = [_told(one) for one in call.arguments[:_MOST_WORDS]]
    pairs = (f"{one} {after}" for one, after in pairwise(words))
    named = [*words] if any(map(remote_loss.EVERYTHING.fullmatch, pairs)) else []
    return bool(named) and not any(
        remote_loss.MADE_AGAIN.search(one) or remote_loss.TRIAL.search(one) for one in named
    )


def _deletes_each(call: ProgramCall, command: ExpandedCommand) -> bool:
    """Whether a program deletes whatever it lists itself: `vmtool list | xargs vmtool destroy`."""
    forge = call.name in remote_loss.FORGES
    if not call.invocation.extra_arguments or (takes_text_as_data(call.name) and not forge):
        return False
    if call.name in remote_loss.INSTALLED_HERE:
        return False
    lists = any(
        program_basename(one.program or "") == call.name
        and any(remote_loss.LISTING.fullmatch(word.value or "") for word in one.words[1:])
        for one in command.flat.invocations
    )
    sources = (one.source for one in command.flat.invocations)
    narrowed = any(re.match(r"(?:e?grep|rg|head|tail|fzf)\b", one) for one in sources)
    words = [*map(plain_text, call.arguments)]
    if forge and not remote_loss.KEPT_A_WHILE.isdisjoint(words):
        return False
    return lists and not narrowed and any(map(remote_loss.VERB.fullmatch, words))


class _ResourceNames(NamedTuple):
    """What a command names: the things it deletes, and where they are."""

    things: Sequence[str]
    places: Sequence[str]

    @classmethod
    def among(cls, words: Sequence[str], valued: Set[str]) -> _ResourceNames:
        """The names among the words; `valued` are further options with a value that is no name."""
        things: list[str] = []
        places: list[str] = []
        before = ""
        for word in words:
            option, equals, value = word.partition("=")
            if word.startswith("-"):
                if equals and remote_loss.NAMING.fullmatch(option):
                    places.append(value)
                before = "" if equals else word
                continue
            if remote_loss.NAMING.fullmatch(before) and before not in valued:
                places.append(word)
            elif not before or (before not in valued and remote_loss.FLAGS.fullmatch(before)):
                # What stands before the verb says which kind of thing it is.
                things = [] if remote_loss.VERB.fullmatch(word) else [*things, word]
            elif "://" in word:
                places.append(word)
            before = ""
        return cls([one for one in things if not remote_loss.KIND.fullmatch(one)], places)

    @property
    def are_trials(self) -> bool:
        """Whether everything that is deleted is a trial, or is part of one."""
        trials = [bool(remote_loss.TRIAL.search(one)) for one in self.things]
        return (bool(trials) and all(trials)) or any(map(remote_loss.TRIAL.search, self.places))

    @property
    def in_use(self) -> bool:
        """Whether a name says that it is in production."""
        return any(map(remote_loss.IN_USE.search, (*self.things, *self.places)))


def _find_dropped(call: ProgramCall, command: ExpandedCommand) -> Iterator[Reason]:
    """Reasons to refuse what a database client is told to drop."""
    given = call.arguments[:_MOST_WORDS]
    words = [plain_text(one).replace(UNKNOWN, remote_loss.FOUND) for one in given]
    names = _ResourceNames.among([one for one in words if " " not in one], remote_loss.SQL_VALUES)
    in_use = names.in_use or _sets_production(call, command)
    # Others use a database on another machine, unless its name says otherwise.
    elsewhere = any(map(_DOMAIN.fullmatch, names.places)) or _runs_elsewhere(call, command)
    in_use = in_use or (not names.are_trials and elsewhere)
    for text in (*words, *input_texts(call.invocation, command), *_generated(call, command)):
        statements = remote_loss.SQL_DATA.sub("''", text)
        dropped = [match[1] or match[2] for match in remote_loss.DROPS.finditer(statements)]
        if names.are_trials and not in_use:
            dropped = [one for one in dropped if remote_loss.IN_USE.search(one)]
        lost = [one for one in dropped if in_use or not remote_loss.TRIAL.search(one)]
        shared = call.name in remote_loss.SHARED_CLIENTS and not (
            names.are_trials or remote_loss.TRIAL.search(statements)
        )
        used = shared or in_use or remote_loss.IN_USE.search(statements)
        if lost or (remote_loss.EMPTIES.search(statements) and used):
            yield call.reason(*CLOUD)
            return


def _generated(call: ProgramCall, command: ExpandedCommand) -> Iterator[str]:
    """The statements that one client prints and another one runs: `select 'drop table ' || name`."""
    for producer in input_sources(call.invocation, command.flat.invocations):
        if program_basename(producer.program or "") in remote_loss.SQL_CLIENTS:
            for word in producer.words[1:]:
                texts = re.findall(r"'([^']*)'", word.value or "")
                yield from (f"{one.rstrip()} {remote_loss.FOUND}" for one in texts)
        elif any(remote_loss.PRINTS_FLUSH.fullmatch(word.value or "") for word in producer.words):
            yield "truncate everything"
