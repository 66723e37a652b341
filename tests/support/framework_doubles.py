"""Stand-ins for agent frameworks that are not installed, so that adapters can be tested alone.

Every name of a framework is a class whose instances keep their arguments as attributes; names of
errors are exceptions.
"""

import importlib
import sys
from types import ModuleType

_ERRORS = ("Error", "Failed", "Required")


class Double(dict):
    """Keeps its keyword arguments, as attributes and as keys."""

    def __init__(self, *given, **named):
        super().__init__(named)
        self.given = given
        self.__dict__.update(named)

    def __class_getitem__(cls, item):
        return cls


class DoubleError(Exception):
    """An exception that keeps its keyword arguments."""

    def __init__(self, *given, **named):
        super().__init__(*given)
        self.__dict__.update(named)


class FrameworkModule(ModuleType):
    """A module in which every public name is a class."""

    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        base = DoubleError if name.endswith(_ERRORS) else Double
        made = type(name, (base,), {})
        setattr(self, name, made)
        return made


def load_adapter(monkeypatch, name, *modules, **names):
    """Import a fresh module of `handrail.adapters` with doubles of the modules that it needs.

    `names` are put into the last of the modules.
    """
    for one in modules:
        monkeypatch.setitem(sys.modules, one, FrameworkModule(one))
    for key, value in names.items():
        setattr(sys.modules[modules[-1]], key, value)
    monkeypatch.delitem(sys.modules, f"handrail.adapters.{name}", raising=False)
    loaded = importlib.import_module(f"handrail.adapters.{name}")
    # The next import loads it anew.
    monkeypatch.delitem(sys.modules, f"handrail.adapters.{name}")
    return loaded
