"""Fakes for whoever builds on Handrail: a model that says what it was told to say, a person who
answers so, and a disk that fails. Everything else in a test can be real.
"""

from handrail.testing.faults import SHORT, Fault, each_call, failing
from handrail.testing.model import ScriptedModel, calls, says, together
from handrail.testing.person import ScriptedPerson

__all__ = [
    "SHORT",
    "Fault",
    "ScriptedModel",
    "ScriptedPerson",
    "calls",
    "each_call",
    "failing",
    "says",
    "together",
]
