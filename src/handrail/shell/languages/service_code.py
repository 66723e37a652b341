"""Code of other languages that deletes what a service keeps, by the library that talks to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from handrail.shell.languages.sql import without_literals
from handrail.shell.tables import remote_loss, service_libraries

_LONGEST: Final = 10_000
_MOST_TEXTS: Final = 200


def empties_service(code: str, around: str = "") -> bool:
    """Whether code deletes a database, a bucket or whatever else others use.

    `around` is the command that runs it: the variables before it may name production.

    As for the programs that do the same, what is a trial by its name or place does not count, and
    less than a whole database counts only on another machine or in production.
    """
    code = service_libraries.PRINTED.sub("''", code[:_LONGEST])
    driver = service_libraries.DRIVER.search(code) is not None
    cloud = service_libraries.CLOUD_DRIVER.search(code) is not None
    calls = service_libraries.DELETES_ADDRESS.search(code) is not None
    if not (driver or cloud or calls) or service_libraries.STAND_IN.search(code):
        return False
    # Whose mail it is says nothing about the machine.
    texts = _texts(service_libraries.MAIL_USER.sub("", code))
    given = service_libraries.ASSIGNMENTS.match(around[:_LONGEST])
    in_use = (
        any(map(remote_loss.IN_USE.search, (*texts, given[0] if given else "")))
        or service_libraries.NAMES_PRODUCTION.search(code) is not None
    )
    if not in_use and any(map(remote_loss.TRIAL.search, texts)):
        return False
    elsewhere = in_use or service_libraries.REMOTE_ADDRESS.search(code) is not None
    if driver and _drops(texts, elsewhere=elsewhere):
        return True
    if driver and elsewhere and service_libraries.EMPTIES_STORE.search(code):
        return True
    if cloud and _deletes_resources(code):
        return True
    return calls and elsewhere and _deletes_each(code)


def _texts(code: str) -> list[str]:
    """The texts in code."""
    found = service_libraries.TEXTS.finditer(code)
    texts = [next((one for one in match.groups() if one is not None), "") for match in found]
    return texts[:_MOST_TEXTS]


def _drops(texts: Sequence[str], *, elsewhere: bool) -> bool:
    """Whether a statement among the texts drops a database, or a table of one that others use."""
    for text in texts:
        statements = without_literals(text)
        if remote_loss.DROPS.search(statements):
            return True
        if elsewhere and remote_loss.EMPTIES.search(statements):
            return True
    return False


def _deletes_resources(code: str) -> bool:
    """Whether code deletes machines, or things that hold many others."""
    parted = service_libraries.CAMEL_CASE.sub("-", code)
    return (
        service_libraries.DELETES_RESOURCE.search(parted) is not None
        or service_libraries.DELETES_FOUND.search(code) is not None
    )


def _deletes_each(code: str) -> bool:
    """Whether code asks another machine to delete each thing that it lists."""
    return (
        service_libraries.LOOPS.search(code) is not None
        and service_libraries.LISTS_ADDRESS.search(code) is not None
        and service_libraries.KEPT_A_WHILE.search(code) is None
    )
