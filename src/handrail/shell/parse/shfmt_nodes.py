"""Access to the nodes of shfmt's JSON: exact source text, known types and fields only.

An unlisted field may change the meaning of its node, so it makes the text unreadable: a newer
shfmt cannot hide anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from handrail.core.commands import UnreadableCommand

Node = Mapping[str, Any]

MAX_DEPTH: Final = 40

# What a node may carry beside its position; only then do we know all that it means.
_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    name: frozenset(fields.split())
    for name, fields in {
        "File": "Stmts Last",
        "Stmt": "Comments Cmd Position Semicolon Negated Background Redirs",
        "Assign": "Append Naked Name Index Value Array",
        "Redirect": "OpPos Op N Word Hdoc",
        "Lit": "ValuePos ValueEnd Value",
        "Word": "Parts",
        "CallExpr": "Assigns Args",
        "Subshell": "Lparen Rparen Stmts Last",
        "Block": "Lbrace Rbrace Stmts Last",
        "IfClause": "Position ThenPos FiPos Cond CondLast Then ThenLast Else Last",
        "WhileClause": "WhilePos DoPos DonePos Until Cond CondLast Do DoLast",
        "ForClause": "ForPos DoPos DonePos Select Loop Do DoLast",
        "WordIter": "Name InPos Items",
        "CStyleLoop": "Lparen Rparen Init Cond Post",
        "BinaryCmd": "OpPos Op X Y",
        "FuncDecl": "Position RsrvWord Parens Name Body",
        "SglQuoted": "Left Right Dollar Value",
        "DblQuoted": "Left Right Dollar Parts",
        "CmdSubst": "Left Right Stmts Last Backquotes",
        "ParamExp": "Dollar Rbrace Short Excl Length Param Index Slice Repl Names Exp",
        "Slice": "Offset Length",
        "Replace": "All Orig With",
        "Expansion": "Op Word",
        "ArithmExp": "Left Right Bracket X",
        "ArithmCmd": "Left Right X",
        "BinaryArithm": "OpPos Op X Y",
        "UnaryArithm": "OpPos Op Post X",
        "ParenArithm": "Lparen Rparen X",
        "CaseClause": "Case In Esac Word Items Last",
        "CaseItem": "Op OpPos Comments Patterns Stmts Last",
        "TestClause": "Left Right X",
        "BinaryTest": "OpPos Op X Y",
        "UnaryTest": "OpPos Op X",
        "ParenTest": "Lparen Rparen X",
        "DeclClause": "Variant Args",
        "ArrayExpr": "Lparen Rparen Elems Last",
        "ArrayElem": "Index Value Comments",
        "ExtGlob": "OpPos Op Pattern",
        "ProcSubst": "OpPos Rparen Op Stmts Last",
        "TimeClause": "Time PosixFormat Stmt",
        "CoprocClause": "Coproc Name Stmt",
        "LetClause": "Let Exprs",
    }.items()
}
_ALWAYS: Final = frozenset({"Type", "Pos", "End"})


def check_node(node: object, kind: str) -> Node:
    """The node, checked to be of this type and to have known fields only."""
    if not isinstance(node, Mapping) or node.get("Type", kind) != kind:
        raise UnreadableCommand("the parser's answer has an unexpected shape")
    unknown = node.keys() - _FIELDS[kind] - _ALWAYS
    if unknown:
        raise UnreadableCommand(f"it uses {kind} with {min(unknown)}, which is not understood")
    return node


def node_type(node: object) -> str:
    """The type that the node names. Raises `UnreadableCommand` for an unknown type."""
    kind = node.get("Type") if isinstance(node, Mapping) else None
    if not isinstance(kind, str) or kind not in _FIELDS:
        raise UnreadableCommand(f"it uses {kind!r}, which is not understood")
    return kind


def items(node: Node, field: str) -> list[Any]:
    """A list field, empty where the parser leaves it out."""
    value = node.get(field, [])
    if not isinstance(value, list):
        raise UnreadableCommand("the parser's answer has an unexpected shape")
    return value


def text(node: Node, field: str) -> str:
    """A text field, empty where the parser leaves it out."""
    value = node.get(field, "")
    if not isinstance(value, str):
        raise UnreadableCommand("the parser's answer has an unexpected shape")
    return value


class CommandSource:
    """The bytes of the command, for the exact text of a node."""

    def __init__(self, command: str) -> None:
        self._bytes = command.encode()
        self._depth = 0

    def of(self, node: Node) -> str:
        """The node's text as written."""
        return self.between(offset(node, "Pos"), offset(node, "End"))

    def between(self, start: int, end: int) -> str:
        """The text between two positions."""
        if not 0 <= start <= end <= len(self._bytes):
            raise UnreadableCommand("the parser's positions lie outside the command")
        try:
            return self._bytes[start:end].decode()
        except UnicodeDecodeError:
            raise UnreadableCommand("the parser's positions cut a character in two") from None

    def __enter__(self) -> None:
        """Enter a nested node. Raises `UnreadableCommand` if the nesting is too deep."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise UnreadableCommand(f"it is nested more than {MAX_DEPTH} levels deep")

    def __exit__(self, *_: object) -> None:
        self._depth -= 1


def offset(node: Node, field: str) -> int:
    """A byte position. Raises `UnreadableCommand` if the parser gives none."""
    place = node.get(field)
    value = place.get("Offset") if isinstance(place, Mapping) else None
    if not isinstance(value, int):
        raise UnreadableCommand("the parser's answer lacks a position")
    return value
