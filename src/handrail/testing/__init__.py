"""Fakes for tests of programs built on Handrail: a scripted model, a provider on loopback, a
scripted user, and a failing disk. Everything else in a test can be real.
"""

from handrail.models.scripted.replies import ProviderFault
from handrail.models.scripted.streams import ScriptedCall, ScriptedMessage
from handrail.testing.faults import SHORT, Fault, each_call, failing
from handrail.testing.model import ScriptedModel, ScriptedUser, calls, says, together
from handrail.testing.provider import FakeProvider, ReceivedRequest

# The former name of `ScriptedUser`.
ScriptedPerson = ScriptedUser

__all__ = [
    "SHORT",
    "FakeProvider",
    "Fault",
    "ProviderFault",
    "ReceivedRequest",
    "ScriptedCall",
    "ScriptedMessage",
    "ScriptedModel",
    "ScriptedPerson",
    "ScriptedUser",
    "calls",
    "each_call",
    "failing",
    "says",
    "together",
]
