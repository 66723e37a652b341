"""Wraps the text of a model for a terminal, while it is streamed."""

from __future__ import annotations

from typing import Final

from handrail.cli.render.screen import terminal_width
from handrail.core.text.columns import most_columns

MODEL_MARGIN: Final = "│ "
_TAB: Final = 8
# A word may grow by this much after its first piece is shown.
_GROWTH: Final = 20


class TextFolder:
    """Wraps the model's text between words, with a margin before each row: if the terminal wrapped
    it, a row could look like a line of Handrail. Near the end of a row, a word is delayed until it
    is complete.
    """

    def __init__(self) -> None:
        self._column = 0
        self._word = ""

    def begin_line(self) -> None:
        """Note that a margin was written."""
        self._column = len(MODEL_MARGIN)

    def fold(self, text: str) -> str:
        """Return what to write for the next piece of text."""
        width, folded = terminal_width(), ""
        for char in text:
            if not char.isspace():
                self._word += char
                continue
            folded += self.take_word()
            wide = _TAB - self._column % _TAB if char == "\t" else 1
            if char == "\n" or self._column + wide <= width:
                folded += char
                self._column += wide
            else:
                # The end of the row already separates the words.
                folded += self._new_row()
        if self._column + _columns(self._word) + _GROWTH <= width:
            folded += self.take_word()
        return folded

    def take_word(self) -> str:
        """Return what to write for the delayed word, if any."""
        width, folded, word = terminal_width(), "", self._word
        self._word = ""
        if self._column + _columns(word) > width >= len(MODEL_MARGIN) + _columns(word):
            folded += self._new_row()
        for char in word:
            if self._column + most_columns(char) > width:
                folded += self._new_row()
            folded += char
            self._column += most_columns(char)
        return folded

    def _new_row(self) -> str:
        self.begin_line()
        return f"\n{MODEL_MARGIN}"


def _columns(text: str) -> int:
    return sum(map(most_columns, text))
