"""Words as the second opinion sees them, and how a program reads options out of them."""


class Suspicious(Exception):
    """The second opinion differs."""


class Word(str):
    """A word without its quotes; a NUL stands for what is computed.

    `many`: the shell may make several words of it.
    """

    __slots__ = ("many",)

    def __new__(cls, text, *, many=False):
        """The word."""
        made = super().__new__(cls, text)
        made.many = many
        return made

    def opens(self):
        """Whether nobody knows how it begins: it may turn out to be an option."""
        return self.startswith("\x00") or (self.many and self[:1] in ("*", "?", "["))


def told(base, manual, given, heard=lambda name, value: None):
    """The operands; raises `Suspicious` at an option that does more.

    `heard` is told every option with its value.
    """
    operands, rest = [], list(given)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return operands + rest
        if manual.does_more() and word.opens():
            raise Suspicious(f"{base} is told {str(word)!r}, which may be an option")
        if word.startswith("--"):
            heard(*_long(base, manual, word, rest))
        elif word.startswith("-") and word != "-":
            _short(base, manual, word, rest, heard)
        else:
            operands.append(word)
            if manual.stops:
                return operands + rest
    return operands


def _long(base, manual, word, rest):
    name, equals, value = word[2:].partition("=")
    found = Word(value) if equals else None
    if not equals and name in manual.named.split():
        if not rest:
            # Without its value the program refuses.
            return name, None
        found = _value(rest)
    # Programs take the beginning of a name for the whole.
    beginning = any(option.startswith(name) for option in manual.names.split())
    if beginning and name not in manual.plain.split():
        raise Suspicious(f"{base} is told {str(word)!r}")
    return name, found


def _short(base, manual, word, rest, heard):
    for at, letter in enumerate(word[1:], 2):
        takes = letter in manual.values
        if takes and at == len(word) and not rest:
            return
        if letter in manual.letters:
            raise Suspicious(f"{base} is told {str(word)!r}")
        if takes:
            heard(letter, Word(word[at:]) if at < len(word) else _value(rest))
            return
        if letter in manual.attached:
            return
        heard(letter, None)


def _value(rest):
    value = rest.pop(0)
    if value.many:
        # The second of several words would be an operand.
        rest.insert(0, value)
    return value
