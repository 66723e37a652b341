"""Folds the text of a model for a terminal, while it is streamed."""

from __future__ import annotations

from typing import Final

from handrail.cli.render.screen import terminal_width
from handrail.core.text.columns import most_columns

MODEL_MARGIN: Final = "│ "
_TAB: Final = 8
# A word may become so much longer after the first piece of it is shown.
_GROWTH: Final = 20


class TextFolder:
    """Folds the model's text between words, with a margin before each row: where the terminal folds
    by itself, a row could be taken for a line of Handrail. Near the end of a row, a word is held
    back until it is complete.
    """

    def __init__(self) -> None:
        self._column = 0
        self._word = ""

    def begin_line(self) -> None:
        """A margin was written."""
        self._column = len(MODEL_MARGIN)

    def fold(self, text: str) -> str:
        """What to write for the next piece of text."""
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
                # The end of the row separates the words already.
                folded += self._new_row()
        if self._column + _columns(self._word) + _GROWTH <= width:
            folded += self.take_word()
        return folded

    def take_word(self) -> str:
        """What to write for the word that was held back, if any."""
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
