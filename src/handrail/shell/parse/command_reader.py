"""Converts the commands of shfmt's tree; every branch of every construct is kept."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from handrail.core.commands import UnreadableCommand
from handrail.shell.parse.shfmt_nodes import (
    CommandSource,
    Node,
    check_node,
    items,
    node_type,
    offset,
    text,
)
from handrail.shell.parse.syntax import (
    AndOrList,
    Assignment,
    Command,
    CommandGroup,
    CompoundCommand,
    FunctionDefinition,
    PipelineCommand,
    Redirect,
    Script,
    SimpleCommand,
    Statement,
    Text,
    Word,
)
from handrail.shell.parse.word_reader import WordReader

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# bash expands what stands behind these once more after its quotes are gone, so that the
# substitution in `>&'$(id)'` runs.
_TWICE: Final = frozenset({">&", "<&"})
_PLAIN_TARGET: Final = re.compile(r"[A-Za-z0-9_./+@%:,-]+")
_REDIRECTS: Final = frozenset(
    {">", ">>", "<", "<>", "<&", ">&", ">|", "<<", "<<-", "<<<", "&>", "&>>"}
)
_EVALUATING_TESTS: Final = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"})
# Longer chains are not written by people, and their trees are as deep.
_MAX_CHAIN: Final = 200


class CommandReader:
    """Converts the statements of one text. `words` collects what their words evaluate and assign."""

    def __init__(self, source: CommandSource) -> None:
        self._source = source
        self.words = WordReader(source, self.script)
        self._readers: dict[str, Callable[[Node], Command]] = {
            "CallExpr": self._simple,
            "DeclClause": self._declaration,
            "LetClause": self._let,
            "BinaryCmd": self._joined,
            "Block": lambda node: CommandGroup(self.script(items(node, "Stmts")), subshell=False),
            "Subshell": lambda node: CommandGroup(self.script(items(node, "Stmts")), subshell=True),
            "IfClause": self._if,
            "WhileClause": self._while,
            "ForClause": self._for,
            "CaseClause": self._case,
            "TestClause": self._test,
            "ArithmCmd": self._arithmetic,
            "TimeClause": self._time,
            "CoprocClause": self._coproc,
            "FuncDecl": self._function,
        }

    def script(self, statements: list[Any]) -> Script:
        """Convert a list of statements."""
        with self._source:
            return Script(tuple(self._statement(one) for one in statements))

    def _statement(self, node: object) -> Statement:
        known = check_node(node, "Stmt")
        command = known.get("Cmd")
        redirects = tuple(self._redirect(one) for one in items(known, "Redirs"))
        return Statement(
            self._command(command) if command is not None else SimpleCommand(()),
            self._text_of(known),
            redirects,
            background=bool(known.get("Background")),
            negated=bool(known.get("Negated")),
        )

    def _text_of(self, node: Node) -> str:
        start = offset(node, "Position")
        end = offset(node, "End")
        if "Semicolon" in node:
            end = max(start, min(end, offset(node, "Semicolon")))
        return self._source.between(start, end).rstrip(" \t\n")

    def _command(self, node: object) -> Command:
        kind = node_type(node)
        reader = self._readers.get(kind)
        if reader is None:
            raise UnreadableCommand(f"it uses {kind} as a command, which is not understood")
        with self._source:
            return reader(check_node(node, kind))

    def _redirect(self, node: object) -> Redirect:
        known = check_node(node, "Redirect")
        operator = text(known, "Op")
        if operator not in _REDIRECTS:
            raise UnreadableCommand(f"the redirect {operator!r} is not understood")
        descriptor = self.words.literal(known["N"]) if "N" in known else ""
        if descriptor.startswith("{"):
            self.words.assigns.add(descriptor.strip("{}"))
        target = self.words.word(known.get("Word"), expands_braces=True)
        if operator in _TWICE and not _PLAIN_TARGET.fullmatch(target.value or ""):
            raise UnreadableCommand(
                f"the target of {operator!r} is worked out twice, quotes or not"
            )
        body = None
        if operator in ("<<", "<<-"):
            body = Word("", (Text("", quoted=True),))
            if "Hdoc" in known:
                literal = any(isinstance(p, Text) and p.quoted for p in target.parts)
                body = self.words.document(known["Hdoc"], literal=literal, tabs=operator == "<<-")
        return Redirect(operator, target, descriptor, body)

    def _simple(self, node: Node) -> SimpleCommand:
        return SimpleCommand(
            tuple(self.words.word(one, expands_braces=True) for one in items(node, "Args")),
            tuple(self._assignment(one) for one in items(node, "Assigns")),
        )

    def _assignment(self, node: object) -> Assignment:
        known = check_node(node, "Assign")
        name = self.words.literal(known.get("Name"))
        if not _NAME.fullmatch(name):
            # The parser takes `]=x` for one, bash for a program.
            raise UnreadableCommand(f"the name {name!r} cannot be assigned")
        index = self.words.subscript(known.get("Index"), name)
        inner = list(index)
        elements = self._elements(known["Array"], name) if "Array" in known else None
        for key, element in elements or ():
            inner += [element] if key is None else [key, element]
        value = self.words.word(known["Value"]) if "Value" in known else None
        return Assignment(
            name,
            value,
            tuple(inner),
            index=index[0] if index else None,
            elements=elements,
            appends=bool(known.get("Append")),
        )

    def _elements(self, node: object, name: str) -> tuple[tuple[Word | None, Word], ...]:
        found: list[tuple[Word | None, Word]] = []
        for element in items(check_node(node, "ArrayExpr"), "Elems"):
            part = check_node(element, "ArrayElem")
            key = self.words.subscript(part.get("Index"), name)
            if "Value" in part:
                value = self.words.word(part["Value"], expands_braces=True)
            else:
                value = Word("", (Text("", quoted=True),))
            found.append((key[0] if key else None, value))
        return tuple(found)

    def _declaration(self, node: Node) -> SimpleCommand:
        name = self.words.literal(node.get("Variant"))
        words = [Word(name, (Text(name),))]
        assignments = []
        for one in items(node, "Args"):
            known = check_node(one, "Assign")
            if "Name" not in known:
                words.append(self.words.word(known.get("Value"), expands_braces=True))
                continue
            assignment = self._assignment(known)
            assignments.append(assignment)
            source = self._source.of(known)
            words.append(_declared(source, assignment, naked=bool(known.get("Naked"))))
        return SimpleCommand(tuple(words), tuple(assignments), declares=name)

    def _let(self, node: Node) -> Command:
        words: list[Word] = []
        for one in items(node, "Exprs"):
            words += self.words.arithmetic(one)
        return CompoundCommand("let", words=tuple(words))

    def _joined(self, node: Node) -> Command:
        if text(node, "Op") in ("|", "|&"):
            stages = self._spine(node, ("|", "|&"))
            return PipelineCommand(tuple(self._statement(one) for _, one in stages))
        return self._chain(node)

    def _chain(self, node: Node) -> Command:
        links = self._spine(node, ("&&", "||"))
        first = self._statement(links[0][1])
        start = offset(links[0][1], "Position")
        for index, (operator, link) in enumerate(links[1:], 1):
            second = self._statement(link)
            chain = AndOrList(first, operator, second)
            if index == len(links) - 1:
                return chain
            first = Statement(chain, self._source.between(start, offset(link, "End")))
        raise UnreadableCommand("a chain without a second part is not understood")

    def _spine(self, node: Node, operators: tuple[str, ...]) -> list[tuple[str, Node]]:
        """The statements that operators of one kind join, in order, with what stands before.

        The tree leans to the left; only links that carry nothing of their own are opened.
        """
        links: list[tuple[str, Node]] = []
        while True:
            operator = text(node, "Op")
            if operator not in ("|", "|&", "&&", "||") or len(links) >= _MAX_CHAIN:
                raise UnreadableCommand(f"a chain of more than {_MAX_CHAIN} commands is not read")
            links.append((operator, check_node(node.get("Y"), "Stmt")))
            left = check_node(node.get("X"), "Stmt")
            command = left.get("Cmd")
            if not (_bare(left) and _joins(command, operators)):
                links.append(("", left))
                return links[::-1]
            node = check_node(command, "BinaryCmd")

    def _if(self, node: Node) -> Command:
        scripts: list[Script] = []
        branch: Node | None = node
        while branch is not None:
            fields = [field for field in ("Cond", "Then") if field in branch]
            scripts += [self.script(items(branch, field)) for field in fields]
            other = branch.get("Else")
            branch = check_node(other, "IfClause") if other is not None else None
        return CompoundCommand("if", tuple(scripts))

    def _while(self, node: Node) -> Command:
        kind = "until" if node.get("Until") else "while"
        scripts = (self.script(items(node, "Cond")), self.script(items(node, "Do")))
        return CompoundCommand(kind, scripts)

    def _for(self, node: Node) -> Command:
        body = (self.script(items(node, "Do")),)
        loop = node.get("Loop")
        if node_type(loop) == "CStyleLoop":
            known = check_node(loop, "CStyleLoop")
            words: tuple[Word, ...] = ()
            for field in ("Init", "Cond", "Post"):
                words += self.words.arithmetic(known.get(field))
            return CompoundCommand("for ((", body, words)
        known = check_node(loop, "WordIter")
        words = tuple(self.words.word(one, expands_braces=True) for one in items(known, "Items"))
        name = self.words.literal(known.get("Name"))
        return CompoundCommand("select" if node.get("Select") else "for", body, words, (name,))

    def _case(self, node: Node) -> Command:
        words = [self.words.word(node.get("Word"))]
        scripts = []
        for one in items(node, "Items"):
            known = check_node(one, "CaseItem")
            words += [self.words.word(pattern) for pattern in items(known, "Patterns")]
            scripts.append(self.script(items(known, "Stmts")))
        return CompoundCommand("case", tuple(scripts), tuple(words))

    def _test(self, node: Node) -> Command:
        return CompoundCommand("[[", words=self._test_words(node.get("X"), evaluated=False))

    def _test_words(self, node: object, *, evaluated: bool) -> tuple[Word, ...]:
        kind = node_type(node)
        if kind == "Word":
            word = self.words.word(node)
            if evaluated:
                self.words.operand(word)
            return (word,)
        if kind not in ("BinaryTest", "UnaryTest", "ParenTest"):
            raise UnreadableCommand(f"it uses {kind} in a test, which is not understood")
        known = check_node(node, kind)
        evaluated = known.get("Op") in _EVALUATING_TESTS
        words: tuple[Word, ...] = ()
        with self._source:
            for field in ("X", "Y"):
                if field in known:
                    words += self._test_words(known[field], evaluated=evaluated)
        return words

    def _arithmetic(self, node: Node) -> Command:
        words = self.words.arithmetic(node.get("X"))
        return CompoundCommand("((", words=words)

    def _time(self, node: Node) -> Command:
        inner = node.get("Stmt")
        return CompoundCommand("time", (self.script([inner] if inner is not None else []),))

    def _coproc(self, node: Node) -> Command:
        name = self.words.optional(node.get("Name"))
        script = self.script([node.get("Stmt")])
        command = script.statements[0].command
        if not (isinstance(command, CommandGroup) or (_plain(command) and not name)):
            # The parser takes a program before a pipe or a redirect for the coproc's name.
            raise UnreadableCommand("of coproc, only a block or one plain command is understood")
        return CompoundCommand("coproc", (script,), name)

    def _function(self, node: Node) -> Command:
        return FunctionDefinition(
            self.words.literal(node.get("Name")), self._statement(node.get("Body"))
        )


def _plain(command: Command) -> bool:
    """Whether it begins with the program, and nothing that looks like an assignment."""
    if not isinstance(command, SimpleCommand) or not command.words or command.assignments:
        return False
    return "=" not in command.words[0].source


def _declared(source: str, assignment: Assignment, *, naked: bool) -> Word:
    if naked:
        return Word(source, (Text(assignment.name),))
    value = assignment.value.parts if assignment.value else ()
    return Word(source, (Text(assignment.name + "="), *value))


def _bare(statement: Node) -> bool:
    return not any(statement.get(field) for field in ("Redirs", "Negated", "Background"))


def _joins(command: object, operators: tuple[str, ...]) -> bool:
    return isinstance(command, dict) and (
        command.get("Type") == "BinaryCmd" and command.get("Op") in operators
    )
