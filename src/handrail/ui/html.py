"""Builds HTML from values. Text is escaped, and misleading characters are made visible."""

from __future__ import annotations

from html import escape
from typing import Final

from handrail.core.text.safe_text import safe_text

_VOID: Final = frozenset({"br", "hr", "input", "link", "meta"})


class Html(str):
    """Markup from `element`; any other string is text."""

    __slots__ = ()


Child = Html | str | None
Attribute = str | int | bool | None


def element(tag: str, *children: Child, **attributes: Attribute) -> Html:
    """Return an element. None is omitted, as child and as attribute; a trailing underscore of an
    attribute is removed (`class_`), other underscores become hyphens.
    """
    markup = "".join(_attribute(name, value) for name, value in attributes.items())
    if tag in _VOID:
        return Html(f"<{tag}{markup}>")
    return Html(f"<{tag}{markup}>{join(*children)}</{tag}>")


def hidden_field(name: str, value: str) -> Html:
    """Return an invisible field of a form, with exactly this value."""
    return Html(f'<input type="hidden" name="{escape(name)}" value="{escape(value)}">')


def join(*children: Child) -> Html:
    """Return several children one after the other."""
    return Html("".join(_markup(child) for child in children if child is not None))


def rendered_size(text: str) -> int:
    """Return how many bytes of a page a text takes."""
    return len(_markup(text).encode("utf-8", "replace"))


def _markup(child: Html | str) -> str:
    return str(child) if isinstance(child, Html) else escape(safe_text(child))


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    shown = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {shown}"
    return f' {shown}="{escape(safe_text(str(value), one_line=True))}"'
