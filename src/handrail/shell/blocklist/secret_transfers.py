"""Keys and credentials that a command hands to a program which talks to other machines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from posixpath import join
from typing import Final

from handrail.core.commands import Reason
from handrail.core.names.sensitive import is_sensitive
from handrail.shell.analyze.invocation import Invocation
from handrail.shell.analyze.proofs import is_token, proving_words
from handrail.shell.blocklist import messages
from handrail.shell.blocklist.deletes import input_sources, wrapping_invocations
from handrail.shell.blocklist.passed_texts import input_texts
from handrail.shell.blocklist.program_calls import ExpandedCommand, ProgramCall, program_basename
from handrail.shell.expand import plain_text
from handrail.shell.parse.syntax import (
    Braces,
    Opaque,
    Part,
    Redirect,
    Substitution,
    Text,
    Variable,
    Word,
    all_simple_commands,
    all_statements,
)
from handrail.shell.tables import remote_loss, secret_senders

_DEEPEST: Final = 8
_MOST_WORDS: Final = 200
# `-d/srv`: the directory that a server shows.
_ATTACHED: Final = re.compile(r"^-[dtrh](?=.)")


def find_secret_transfers(command: ExpandedCommand) -> Iterator[Reason]:
    """Reasons to refuse programs that send a key or credential to another machine."""
    tracker = _SecretTracker(command)
    for call in command.calls:
        if tracker.sends(call):
            yield call.reason(messages.SENDS_SECRETS, messages.ASK_THE_USER)
    for one in command.flat.invocations:
        if tracker.writes_to_socket(one):
            yield Reason(f"{messages.SENDS_SECRETS}; {messages.ASK_THE_USER}", one.source)


class _SecretTracker:
    """Follows keys through pipes, redirects, substitutions and variables."""

    def __init__(self, command: ExpandedCommand) -> None:
        self._command = command
        self._known: dict[int, bool] = {}
        self._copies_of_secrets: frozenset[str] | None = None
        self._finds_secrets = any(map(_searches_secrets, command.flat.invocations))
        # Secrets of the workspace count, too.
        self._sends_own = False
        self._sockets = frozenset(_socket_numbers(command.flat.invocations))

    def sends(self, call: ProgramCall) -> bool:
        """Whether the program sends a key to another machine."""
        if call.name in secret_senders.RAW_SENDERS and _stays_here(call):
            return False
        if call.name in secret_senders.SCRIPTED and self._is_told_to_send(call):
            return True
        if call.name == "git" and self._pushes_copy(call):
            return True
        if self._publishes(call) or self._serves(call) or _pastes(call):
            return True
        found = call.invocation.extra_arguments and self._finds_secrets
        if call.name in secret_senders.COPIERS and (found or self._copies(call)):
            return True
        return call.name in secret_senders.SENDERS and (found or self._sends_named(call))

    def _publishes(self, call: ProgramCall) -> bool:
        """Whether a key is copied to where others read it: a web server's files, a container."""
        given = [one.partition("=")[2] or one for one in call.arguments]
        if call.name in secret_senders.INTO_CONTAINERS:
            copies = not {"cp", "push"}.isdisjoint(call.operands[:3])
            places = [one for one in given if secret_senders.CONTAINER_PLACE.fullmatch(one)]
            if not copies or secret_senders.KEYS_BELONG.search("".join(given[-1:])):
                return False
            return (bool(places) or "push" in call.operands) and any(
                self._is_secret(one, call.cwd) for one in given[:-1]
            )
        shown = any(map(secret_senders.PUBLIC_UPLOAD.fullmatch, call.arguments))
        if shown and call.name in secret_senders.COPIERS:
            return any(map(is_sensitive, call.operands))
        if call.name not in secret_senders.COPYING:
            return False
        public = [
            one for one in given if secret_senders.PUBLIC.fullmatch(join(call.cwd or "", one))
        ]
        shown = any(map(secret_senders.WEB_ROOT.fullmatch, public))
        return bool(public) and (
            any(
                self._is_secret(one, call.cwd) or (shown and is_sensitive(_file_name(one)))
                for one in given
                if one not in public
            )
            or self._receives(call.invocation)
        )

    def _serves(self, call: ProgramCall) -> bool:
        """Whether a server shows a directory with keys to other machines."""
        given = [plain_text(one) for one in call.arguments[:_MOST_WORDS]]
        if secret_senders.SERVES.fullmatch(" ".join((call.name, *given))) is None:
            return False
        values = [
            one.partition("=")[2] or _ATTACHED.sub("", one).removeprefix("file://") for one in given
        ]
        tunnelled = any(one.name in secret_senders.TUNNELS for one in self._command.calls)
        if any(map(secret_senders.THIS_MACHINE.fullmatch, values)) and not tunnelled:
            return False
        if not any(map(secret_senders.NAMES_DIRECTORY.fullmatch, given)):
            values.append(call.cwd or "")
        return any(
            self._is_secret(one, call.cwd) for one in values if one and not one.startswith("-")
        )

    def _pushes_copy(self, call: ProgramCall) -> bool:
        """`cp ~/.ssh/id_rsa .; git add .; git commit; git push`."""
        if "push" not in call.arguments or not self._copied():
            return False
        added = [
            one
            for other in self._command.calls
            if other.name == "git" and not {"add", "commit", "stage"}.isdisjoint(other.arguments)
            for one in other.arguments
        ]
        everything = {".", "-A", "--all", "-a", "-am", "*"}
        return any(one in everything or _file_name(one) in self._copied() for one in added)

    def _is_told_to_send(self, call: ProgramCall) -> bool:
        """`sftp host <<< "put ~/.ssh/id_rsa"`: the commands on standard input name the file."""
        texts = input_texts(call.invocation, self._command)
        return any(self._is_secret(one, call.cwd) for text in texts for one in text.split())

    def _sends_named(self, call: ProgramCall) -> bool:
        own = call.name in secret_senders.RAW_SENDERS
        if own is not self._sends_own:
            self._sends_own = own
            self._known.clear()
        if self._receives(call.invocation):
            return True
        # Nobody uploads files of the system.
        if self._sends_own and any(
            is_sensitive(path) or path.startswith("/etc/") for path in _uploads(call)
        ):
            return True
        self._sends_own = False
        named = any(self._is_secret(path, call.cwd) for path in _sent_paths(call))
        self._sends_own = own
        return named

    def writes_to_socket(self, one: Invocation) -> bool:
        """Whether the invocation writes a key to a connection of the shell, or for a web server."""
        targets = [redirect.target.value or "" for redirect in one.redirects]
        numbered = {target for target in targets if target in self._sockets}
        sockets = any(one.startswith(("/dev/tcp/", "/dev/udp/")) for one in targets)
        if not numbered and not sockets and not any(map(secret_senders.PUBLIC.fullmatch, targets)):
            return False
        return self._secret_command(one.words) or self._receives(one)

    def _copies(self, call: ProgramCall) -> bool:
        operands = call.operands
        places = [
            n
            for n, one in enumerate(operands)
            if secret_senders.REMOTE_PLACE.fullmatch(one) is not None
        ]
        if not places:
            return False
        identities = {value for _, value in _identities(call)}
        sources = [one for one in operands[: places[-1]] if one not in identities]
        return any(self._is_secret(one, call.cwd) for one in sources)

    def _is_secret(self, field: str, cwd: str | None) -> bool:
        places = self._command.critical_paths
        if places.holds_secrets(places.expand_home(field), cwd):
            return True
        is_file = "://" not in field and field[:1] not in ("", "-")
        if self._sends_own and is_file and is_sensitive(field):
            return True
        return _file_name(field) in self._copied()

    def _copied(self) -> frozenset[str]:
        """The names of files into which the command copies keys."""
        if self._copies_of_secrets is None:
            self._copies_of_secrets = frozenset()
            copying = [
                one
                for one in self._command.flat.invocations
                if program_basename(one.program or "") in secret_senders.COPYING
            ]
            # A copy may be copied again.
            for _ in range(2):
                self._copies_of_secrets |= frozenset(
                    name
                    for one in copying
                    if any(map(self._secret_path, one.words[1:]))
                    for name in _written_names(one)
                )
        return self._copies_of_secrets

    def _receives(self, one: Invocation) -> bool:
        """Whether a key is in the words, on standard input, or in a here-string."""
        proofs = proving_words(one)
        told = (word for word in one.words if word not in proofs)
        # What a wrapper reads is what its program reads: `timeout 5 nc host < key`.
        carriers = wrapping_invocations(one, self._command.flat.invocations)
        redirects = [*one.redirects, *(each for other in carriers for each in other.redirects)]
        if any(map(self._secret_word, told)) or any(map(self._secret_input, redirects)):
            return True
        own, self._sends_own = self._sends_own, False
        sent = any(self._secret_word(word) for word in proofs if not is_token(word))
        self._sends_own = own
        if sent:
            return True
        among = self._command.flat.invocations
        listed = (
            word
            for wrapper in wrapping_invocations(one, among)
            for before, word in pairwise(wrapper.words)
            if before.value in ("-a", "--arg-file", "::::")
        )
        if any(map(self._secret_path, listed)):
            return True
        return any(self._prints_secret(other, 0) for other in input_sources(one, among))

    def _secret_input(self, redirect: Redirect) -> bool:
        if not redirect.operator.startswith("<"):
            return False
        if redirect.operator in ("<", "<>") and self._secret_path(redirect.target):
            return True
        return any(map(self._secret_word, filter(None, (redirect.target, redirect.body))))

    def _prints_secret(self, one: Invocation, depth: int) -> bool:
        # Remembered: every command of a stage is fed by every command of the one before.
        if id(one) not in self._known:
            self._known[id(one)] = False
            self._known[id(one)] = (
                self._secret_command(one.words)
                or any(map(self._secret_word, one.words))
                or any(map(self._secret_input, one.redirects))
                or (
                    depth < _DEEPEST
                    and any(self._prints_secret(other, depth + 1) for other in one.piped_from)
                )
            )
        return self._known[id(one)]

    def _secret_command(self, words: Sequence[Word]) -> bool:
        """Whether a simple command prints a key, or the whole environment."""
        if not words:
            return False
        name, values = program_basename(words[0].value or ""), [one.value for one in words[1:]]
        if name in secret_senders.ENVIRONMENT and not values:
            return True
        if any(secret_senders.METADATA.fullmatch(one or "") for one in values[:_MOST_WORDS]):
            return True
        if secret_senders.PRINTS_SECRETS.fullmatch(
            " ".join((name, *(one or "" for one in values)))
        ):
            return True
        told = " ".join((name, *(one or "" for one in values)))
        if self._sends_own and secret_senders.PRINTS_DATA.fullmatch(told):
            return remote_loss.IN_USE.search(told) is not None
        return name not in ("echo", "printf", "ls", "stat", "test", "[") and any(
            map(self._secret_path, words[1:])
        )

    def _secret_path(self, word: Word) -> bool:
        return any(
            self._is_secret(field, cwd)
            for cwd in self._command.directories
            for fields in self._command.expander.likely([word], cwd)
            for field in fields
        )

    def _secret_word(self, word: Word, depth: int = 0) -> bool:
        return depth <= _DEEPEST and any(self._secret_part(part, depth) for part in word.parts)

    def _secret_part(self, part: Part, depth: int) -> bool:
        match part:
            case Substitution():
                reads = (one.redirects for one in all_statements(part.script))
                return any(
                    self._secret_command(simple.words)
                    or any(self._secret_word(one, depth + 1) for one in simple.words)
                    for simple in all_simple_commands(part.script)
                ) or any(self._secret_input(one) for group in reads for one in group)
            case Variable():
                if self._sends_own and secret_senders.SECRET_VARIABLE.fullmatch(part.name):
                    return True
                binding = self._command.expander.bindings.get(part.name)
                given = () if binding is None else binding.assigned
                return any(self._secret_word(one, depth + 1) for one in (*given, *part.inner))
            case Opaque():
                return any(self._secret_word(one, depth + 1) for one in part.inner)
            case Braces():
                return any(self._secret_word(one, depth + 1) for one in part.alternatives)
            case Text():
                return False


def _pastes(call: ProgramCall) -> bool:
    """Whether a file with secrets is put where everybody reads it: `gh gist create .env`."""
    told = " ".join((call.name, *call.arguments[:_MOST_WORDS]))
    pastes = secret_senders.PASTES.fullmatch(told) is not None
    return pastes and any(map(is_sensitive, call.operands))


def _identities(call: ProgramCall) -> Iterator[tuple[int, str]]:
    """The values of options that name a key to log in with, and where they stand."""
    short = secret_senders.LOGIN_OPTIONS.get(call.name, frozenset())
    for number, one in enumerate(call.arguments):
        name, equals, value = one.partition("=")
        if name in short or secret_senders.IDENTITY.fullmatch(name):
            after = "".join(call.arguments[number + 1 : number + 2])
            yield (number, value) if equals else (number + 1, after)
        elif one[:2] in short:
            yield number, one[2:]


def _searches_secrets(one: Invocation) -> bool:
    """Whether a search names files that hold secrets."""
    if program_basename(one.program or "") not in ("find", "gfind", "fd", "fdfind", "locate"):
        return False
    return any(is_sensitive(word.value, glob=True) for word in one.words[1:] if word.value)


def _stays_here(call: ProgramCall) -> bool:
    """Whether every address that the program is given is this machine."""
    options = [one for one in call.arguments if one.startswith("-") and one != "-"]
    if any(map(secret_senders.DETOUR.fullmatch, options)):
        return False
    addresses = [*_addresses(call)]
    if call.name in secret_senders.HTTPIE:
        methods = map(secret_senders.METHOD.fullmatch, addresses[:1])
        addresses = addresses[1:2] if any(methods) else addresses[:1]
    others = [one for one in addresses if not secret_senders.THIS_MACHINE.fullmatch(one)]
    return len(others) < len(addresses) and all(map(secret_senders.PORT.fullmatch, others))


def _addresses(call: ProgramCall) -> Iterator[str]:
    """The arguments that may be an address; also values of options that are not known as data."""
    data = secret_senders.DATA_OPTIONS.get(call.name.rstrip("2"), frozenset())
    for before, one in pairwise(("", *call.arguments)):
        name, equals, value = one.partition("=")
        if one.startswith("--") and equals and name not in data:
            yield value
        elif before not in data and not (one.startswith("-") and one != "-"):
            yield one


def _socket_numbers(invocations: Sequence[Invocation]) -> Iterator[str]:
    """The descriptors that `exec 3<>/dev/tcp/…` opens."""
    for one in invocations:
        for redirect in one.redirects:
            if redirect.fd and (redirect.target.value or "").startswith(("/dev/tcp/", "/dev/udp/")):
                yield redirect.fd


def _file_name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _written_names(one: Invocation) -> Iterator[str]:
    """The names that a copy of a file may get."""
    for word in (*one.words[1:], *(redirect.target for redirect in one.redirects)):
        name = _file_name(word.value or "")
        if name not in ("", ".", "..", "-") and not name.startswith("-"):
            yield name


def _uploads(call: ProgramCall) -> Iterator[str]:
    """The files that the arguments name as such: `-F x=@file`, `-T file`, `--post-file=file`."""
    for before, one in pairwise(("", *call.arguments)):
        name, equals, value = one.partition("=")
        if "@" in one and not before.startswith(("-u", "--user")):
            yield one.rpartition("@")[2]
        elif equals and secret_senders.UPLOAD.fullmatch(name):
            yield value
        elif secret_senders.UPLOAD.fullmatch(before):
            yield one


def _sent_paths(call: ProgramCall) -> Iterator[str]:
    """The parts of arguments that may name a file to send: `@x`, `name=@x`, `--post-file=x`, `x`."""
    skipped = {number for number, _ in _identities(call)}
    for number, one in enumerate(call.arguments):
        if number not in skipped:
            # `FILE:x,option` of socat.
            path = secret_senders.SOCAT_FILE.sub(r"\1", one)
            value = path.rpartition("@")[2] if "@" in path else path.rpartition("=")[2]
            yield value.removeprefix("<")
