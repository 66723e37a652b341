"""Deleting clusters, databases, repositories and whatever else other machines hold.

A pattern says which deletions are refused. The names of what is deleted, and nothing else in the
command, decide whether it is a trial or in production.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from handrail.core.commands import Reason
from handrail.shell.analyze.narrowed_lists import MOST_STAGES, are_narrowed, feeding_stages
from handrail.shell.analyze.resource_names import ResourceNames
from handrail.shell.analyze.selected_places import selects_production
from handrail.shell.analyze.service_words import deletes_everything, ends_services, lists_own
from handrail.shell.blocklist import messages
from handrail.shell.blocklist.deletes import (
    has_empty_source,
    input_sources,
    wrapping_invocations,
)
from handrail.shell.blocklist.interpreters import interpreter_language
from handrail.shell.blocklist.passed_texts import input_texts
from handrail.shell.blocklist.program_calls import ExpandedCommand, ProgramCall, program_basename
from handrail.shell.expand import UNKNOWN, plain_text
from handrail.shell.languages.sql import without_literals
from handrail.shell.tables import data_stores, listings, production_resets, remote_loss
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
# A line feed in an argument hides nothing.
_ANY_LINE: Final = re.IGNORECASE | re.DOTALL
_LONGEST_CODE: Final = 4_000
_MOST_LINES: Final = 100
# The patterns for longer texts read each character a limited number of times.
_LONGEST_INPUT: Final = 64_000
# What stands for a list that has only some of what there is.
_SOME: Final = {
    remote_loss.FOUND: "<some>",
    remote_loss.LISTED: "<some>",
    f":{remote_loss.FOUND}": ":<some>",
}
_REMOTE_SHELLS: Final = frozenset(
    ("ssh", "mosh", "sshpass", "kubectl", "oc", "heroku", "fly", "flyctl")
)


def find_remote_losses(call: ProgramCall, command: ExpandedCommand) -> Iterator[Reason]:
    """Reasons to refuse what a program deletes on other machines."""
    if call.is_dry_run:
        return
    if _empties_service(call, command) or _mirrors_nothing(call, command):
        yield call.reason(*CLOUD)
        return
    # Whatever is named after the language takes statements of it: `spark-sql`.
    sends_sql = call.name in remote_loss.SENDS_SQL or call.name.endswith("sql")
    if call.name not in remote_loss.PROGRAMS and not sends_sql:
        everything = deletes_everything(call.name, _argument_texts(call)) or _deletes_each(
            call, command
        )
        if everything or _resets_production(call, command):
            yield call.reason(*CLOUD)
        return
    words = _told_words(call, command)
    names = ResourceNames.among(words, naming=_naming_options(call))
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
    spellings |= {f"{call.name} {one}" for one in _console_lines(call, command)}
    patterns = (*refused, *further)
    if any(re.fullmatch(one, text, _ANY_LINE) for one in patterns for text in spellings) or (
        _resets_production(call, command) or _deletes_each(call, command)
    ):
        yield call.reason(*_repository_loss(call))
    elif _empties_storage(call, command) and not names.are_trials:
        yield call.reason(*CLOUD)
    elif sends_sql:
        yield from _find_dropped(call, command)


def _told_words(call: ProgramCall, command: ExpandedCommand) -> list[str]:
    """The arguments, with what other commands list and answer for them."""
    words = _placed(call)
    if call.invocation.extra_arguments:
        words += [remote_loss.FOUND, remote_loss.LISTED]
    if _is_told_yes(call, command):
        words.append("--yes")
    if any(remote_loss.FOUND in one for one in words) and _is_given_some(call, command):
        words = [_SOME.get(one, one) for one in words]
    return words


def _repository_loss(call: ProgramCall) -> tuple[str, str]:
    """What is lost, and what to do instead: a history on this machine, branches of others, or more."""
    if call.name in ("hg", "fossil") or (call.name == "git" and "push" not in call.arguments):
        return messages.LOSES_HISTORY, messages.ASK_THE_USER
    return REMOTE_BRANCHES if call.name in ("git", "svn") else CLOUD


def _naming_options(call: ProgramCall) -> re.Pattern[str]:
    """The options of a program whose value is a name."""
    if call.name == "git":
        return remote_loss.NAMING_OF_GIT
    composes = call.name.endswith("-compose") or "compose" in call.arguments[:_MOST_WORDS]
    return remote_loss.NAMING_OF_COMPOSE if composes else remote_loss.NAMING


def _empties_service(call: ProgramCall, command: ExpandedCommand) -> bool:
    """Whether a program, known or not, deletes the root of a store, every series, or a zone."""
    if call.name == "nsupdate":
        return any(map(remote_loss.ZONE_EMPTIED.search, _given_texts(call, command)))
    words = _argument_texts(call)
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
    """Whether a store of objects is told to expire all of them soon."""
    if not any(map(remote_loss.LIFECYCLE.search, _argument_texts(call))):
        return False
    whole = _argument_texts(call, _LONGEST_INPUT)
    texts = (*whole, *_given_texts(call, command), " ".join(whole))
    soon = (one for one in texts if remote_loss.EXPIRES_SOON.search(one))
    return any(remote_loss.ONLY_SOME.search(one) is None for one in soon)


def _mirrors_nothing(call: ProgramCall, command: ExpandedCommand) -> bool:
    """Whether another machine is told to become like a directory with nothing in it."""
    words = [call.name, *_argument_texts(call)]
    places = [one for one in words[1:] if remote_loss.ELSEWHERE.fullmatch(one)]
    return (
        any(map(remote_loss.SYNCS.fullmatch, words))
        and any(map(remote_loss.DELETES_OTHERS.fullmatch, words))
        and bool(places)
        and not any(map(remote_loss.TRIAL.search, (words[-1], *places)))
        and has_empty_source(call, command)
    )


def _placed(call: ProgramCall) -> list[str]:
    """The arguments, with the name of this machine where HTTPie lets it be left out."""
    words = _argument_texts(call)
    if call.name not in ("http", "xh"):
        return words
    return [_OWN_PORT.sub("localhost:", one) for one in words]


def _argument_texts(call: ProgramCall, longest: int = _LONGEST_CODE) -> list[str]:
    """The arguments as far as the patterns look at them; `FOUND` for what is not known."""
    return [_argument_text(one)[:longest] for one in call.arguments[:_MOST_WORDS]]


def _given_texts(call: ProgramCall, command: ExpandedCommand) -> Iterator[str]:
    """What the program reads on standard input, as far as the patterns look at it."""
    return (one[:_LONGEST_INPUT] for one in input_texts(call.invocation, command))


def _console_lines(call: ProgramCall, command: ExpandedCommand) -> list[str]:
    """The commands that a program reads which takes them on standard input, too."""
    if call.name not in data_stores.CONSOLES:
        return []
    lines = "\n".join(_given_texts(call, command)).splitlines()
    options = " ".join(one for one in _argument_texts(call) if " " not in one)[:_LONGEST_WORD]
    return [f"{options} {one[:_LONGEST_WORD]}".strip() for one in lines[:_MOST_LINES]]


def _is_told_yes(call: ProgramCall, command: ExpandedCommand) -> bool:
    """Whether the questions of a program are answered before it asks: `yes | terraform destroy`."""
    feeds = input_sources(call.invocation, command.flat.invocations)
    if any(program_basename(one.program or "") == "yes" for one in feeds):
        return True
    return any(map(remote_loss.ANSWER.fullmatch, _given_texts(call, command)))


def _argument_text(field: str) -> str:
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
    return any(map(remote_loss.IN_USE.search, (*given, *places))) or (
        selects_production(invocation, command.flat.invocations)
    )


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
    words = _argument_texts(call)
    # `migrate reset` is `migrate:reset` of another program.
    told = [call.name, *(one for one in words if not one.startswith("-"))]
    pairs = [f"{one}:{after}" for one, after in pairwise(told)]
    resets = [one for one in (*words, *pairs) if production_resets.RESETS.fullmatch(one)]
    back = (production_resets.MIGRATES, production_resets.TAKES_BACK, production_resets.THE_START)
    if all(any(map(one.fullmatch, (call.name, *words))) for one in back):
        resets.append("rollback")
    if any(map(production_resets.MADE_AGAIN.search, words)):
        return False
    named = (one for one in words if " " not in one and one not in resets)
    in_use = any(map(production_resets.PRODUCTION.fullmatch, named)) or (
        _sets_production(call, command) or _runs_elsewhere(call, command)
    )
    # A database that others use, or that of a site.
    emptied = any(map(production_resets.EMPTIES_DATABASE.fullmatch, resets))
    places = (production_resets.REMOTE_DATABASE, production_resets.SERVED_SITE)
    used = any(one.fullmatch(word) for word in words for one in places)
    if emptied and used and not any(map(remote_loss.TRIAL.search, words)):
        return True
    # Whatever reads statements, if production is named.
    return in_use and (
        bool(resets)
        or any(
            remote_loss.DROPS.search(one) or production_resets.EMPTIES_MODEL.search(one)
            for one in _given_texts(call, command)
        )
    )


def _deletes_each(call: ProgramCall, command: ExpandedCommand) -> bool:
    """Whether a program deletes whatever it lists itself: `vmtool list | xargs vmtool destroy`.

    A program that is not known counts only if something says that whole services or machines go: its
    name (`shopctl`), the verb (`destroy`), or the kind of thing (`delete-bucket`). Entries of a
    list (`todo list | xargs todo rm`) are asked about, and so is what can be installed again.
    """
    forge = call.name in remote_loss.FORGES
    words = _argument_texts(call)
    # Each word of a loop, or each line that it reads.
    read = call.invocation.piped_from and any(remote_loss.FOUND in one for one in words)
    each = call.invocation.extra_arguments or call.invocation.bound or read
    if each and call.name in remote_loss.HTTP_CLIENTS:
        return _deletes_addresses(call, words, command)
    if not each or (takes_text_as_data(call.name) and not forge):
        return False
    if call.name in listings.INSTALLED_HERE or not any(map(remote_loss.VERB.fullmatch, words)):
        return False
    if forge:
        counts = remote_loss.KEPT_A_WHILE.isdisjoint(words)
    elif call.name in remote_loss.PROGRAMS:
        counts = call.name in data_stores.EMPTIED_BY_LISTS
    else:
        counts = ends_services(call.name, words)
    if not counts:
        return False
    among = command.flat.invocations[:MOST_STAGES]
    pipe = feeding_stages(input_sources(call.invocation, command.flat.invocations))
    lists = [one for one in pipe if lists_own(call.name, one)] or [
        one for one in among if lists_own(call.name, one)
    ]
    return bool(lists) and not (are_narrowed(lists, among) or _is_given_some(call, command))


def _deletes_addresses(call: ProgramCall, words: Sequence[str], command: ExpandedCommand) -> bool:
    """Whether a client asks another machine to delete each thing that an earlier request lists."""
    sources = [word.source for word in call.invocation.words]
    told = " ".join((*words, *sources))
    if not remote_loss.ASKS_TO_DELETE.search(told) or remote_loss.CLEANED_UP.search(told):
        return False
    if any(map(remote_loss.TRIAL.search, (*words, *sources))):
        return False
    among = command.flat.invocations[:MOST_STAGES]
    lists = [
        one
        for one in among
        if program_basename(one.program or "") in remote_loss.HTTP_CLIENTS
        and one is not call.invocation
        and not remote_loss.ASKS_TO_DELETE.search(one.source)
    ]
    return bool(lists) and not (are_narrowed(lists, among) or _is_given_some(call, command))


def _is_given_some(call: ProgramCall, command: ExpandedCommand) -> bool:
    """Whether each list that a program is given, by xargs or by `$( )`, has only some of what there is."""
    own = call.invocation
    among = command.flat.invocations
    # What is inside of the command, and not inside of that.
    inside = [one for one in among if one.source != own.source and one.source in own.source]
    inside = inside[:MOST_STAGES]
    if own.extra_arguments or not inside:
        inside += feeding_stages(input_sources(own, among))
    if own.bound and not inside:
        inside = [one for one in among if one.in_substitution][:MOST_STAGES]
    sources = {one.source for one in inside}
    starts = [
        one
        for one in inside
        if not one.piped_from
        and not any(one.source != other and one.source in other for other in sources)
    ]
    return bool(starts) and are_narrowed(starts, inside)


def _find_dropped(call: ProgramCall, command: ExpandedCommand) -> Iterator[Reason]:
    """Reasons to refuse what a database client is told to drop."""
    given = call.arguments[:_MOST_WORDS]
    words = [plain_text(one).replace(UNKNOWN, remote_loss.FOUND) for one in given]
    names = ResourceNames.among([one for one in words if " " not in one], remote_loss.SQL_VALUES)
    in_use = names.in_use or _sets_production(call, command)
    # Others use a database on another machine, unless its name says otherwise.
    elsewhere = any(map(_DOMAIN.fullmatch, names.places)) or _runs_elsewhere(call, command)
    in_use = in_use or (not names.are_trials and elsewhere)
    # `db2 drop database shop` takes the words of one statement apart.
    given_texts = (*_given_texts(call, command), *_generated(call, command))
    for text in (*words, " ".join(words), *given_texts):
        statements = without_literals(text[:_LONGEST_INPUT])
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
        elif any(
            production_resets.PRINTS_FLUSH.fullmatch(word.value or "") for word in producer.words
        ):
            yield "truncate everything"
