"""A terminal screen: what a user sees after a program has written these bytes.

It knows the sequences that Handrail uses; any other escape sequence is an error.
"""

import codecs
import re
import unicodedata

SEQUENCE = re.compile(r"\x1b(?:\[(?P<given>[?0-9;]*)(?P<final>[A-Za-z])|(?P<single>[78]))")


CUT = re.compile(r"\x1b(?:\[[?0-9;]*)?")


class UnknownSequence(Exception):
    """The program wrote an escape sequence that Handrail does not use."""


class Screen:
    """Rows of cells with a cursor, a scroll region, and the rows that have left at the top."""

    def __init__(self, columns, rows):
        self.columns, self.height = columns, rows
        self.cells = [[" "] * columns for _ in range(rows)]
        self.above = []
        self.row = self.column = 0
        self.top, self.bottom = 0, rows - 1
        self.saved = (0, 0)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def feed(self, data: bytes) -> "Screen":
        """Take up the next bytes; a sequence may be cut anywhere."""
        text, at = self._rest + self._decoder.decode(data), 0
        self._rest = ""
        while at < len(text):
            if text[at] == "\x1b":
                found = SEQUENCE.match(text, at)
                if found is None and CUT.fullmatch(text, at):
                    self._rest = text[at:]
                    break
                if found is None:
                    raise UnknownSequence(repr(text[at : at + 20]))
                self._obey(found)
                at = found.end()
            else:
                self._put(text[at])
                at += 1
        return self

    def lines(self) -> list[str]:
        """The rows on the screen, without the spaces at their ends."""
        return ["".join(row).rstrip() for row in self.cells]

    def transcript(self) -> list[str]:
        """Everything above the status line, also what has scrolled away."""
        return [*self.above, *self.lines()[:-2]]

    def _put(self, char):
        if char == "\n":
            self._line_feed()
        elif char == "\r":
            self.column = 0
        elif char == "\x08":
            self.column = max(self.column - 1, 0)
        elif char != "\x07":
            wide = 2 if unicodedata.east_asian_width(char) in "WF" else 1
            if self.column + wide > self.columns:
                self.column = 0
                self._line_feed()
            self.cells[self.row][self.column] = char
            self.column += wide

    def _line_feed(self):
        if self.row != self.bottom:
            self.row = min(self.row + 1, self.height - 1)
            return
        gone = self.cells.pop(self.top)
        if self.top == 0:
            self.above.append("".join(gone).rstrip())
        self.cells.insert(self.bottom, [" "] * self.columns)

    def _obey(self, found):
        if found["single"]:
            if found["single"] == "7":
                self.saved = (self.row, self.column)
            else:
                self.row, self.column = self.saved
            return
        given, final = found["given"], found["final"]
        numbers = [int(one) if one.isdigit() else 0 for one in given.split(";")]
        if final == "m" or (final in "hl" and given in ("?25", "?2004")):
            return
        if final == "H":
            row, column = (*numbers, 0)[:2]
            self.row = min(max(row - 1, 0), self.height - 1)
            self.column = min(max(column - 1, 0), self.columns - 1)
        elif final == "A":
            self.row = max(self.row - max(numbers[0], 1), 0)
        elif final == "r":
            first, last = (*numbers, 0)[:2]
            self.top, self.bottom = max(first - 1, 0), (last or self.height) - 1
            self.row = self.column = 0
        elif final == "K":
            self.cells[self.row][self.column :] = [" "] * (self.columns - self.column)
        elif final == "J":
            self.cells[self.row][self.column :] = [" "] * (self.columns - self.column)
            for row in range(self.row + 1, self.height):
                self.cells[row] = [" "] * self.columns
        else:
            raise UnknownSequence(repr(found[0]))
