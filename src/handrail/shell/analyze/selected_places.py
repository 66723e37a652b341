"""What a command selects for its later programs: a context, a profile, variables, an environment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from handrail.shell.analyze.invocation import Invocation
from handrail.shell.tables.remote_loss import IN_USE
from handrail.shell.tables.word_list import word_set

# Variables that say where programs work, by their names.
_PLACE: Final = re.compile(
    r"(?i)(?:\w*_)?(?:env|environment|stage|settings(?:_module)?|profile|context|kubeconfig|project|subscription|account|workspace"
    r"|(?:database|db|mongo\w*|redis|pg|mysql|amqp|kafka|elastic\w*)(?:_?(?:url|uri|host|name|service|database))?|hosts?|server|endpoint|addr(?:ess)?"
    r"|namespace|cluster|app|target|tier|chdir)"
)
_SETS_VARIABLES: Final = word_set("export declare typeset readonly local env")
_SOURCES: Final = frozenset((".", "source"))
# Words after which a program names what its later runs work on.
_SELECTS: Final = re.compile(
    r"use(?:-\w+)?|select|set(?:-\w+)?|switch\w*|activate|target|context|link|env|config|git:remote|login|init"
)
# Programs that work on what another one selects.
_FAMILIES: Final = (
    word_set(
        "kubectl oc helm kubectx kubens kubie kubeswitch flux argocd istioctl velero helmfile kustomize"
    ),
    word_set("terraform tofu terragrunt tfswitch tfenv"),
    word_set("aws awsume aws-vault asp saml2aws granted assume eksctl sam cdk"),
    word_set("docker docker-compose docker-machine podman"),
    word_set("gcloud gsutil bq"),
    word_set("fly flyctl"),
)
_MOST_EARLIER: Final = 200
# `env $(cat .env.production) program`.
_ENVIRONMENT_FILE: Final = re.compile(r"\$\([^()]*\.?env\.prod(?:uction)?\b[^()]*\)")


def is_selection(name: str, value: str) -> bool:
    """Whether a variable makes programs work in production: `RAILS_ENV=production`."""
    return _PLACE.fullmatch(name) is not None and IN_USE.search(value) is not None


def selects_production(invocation: Invocation, among: Sequence[Invocation]) -> bool:
    """Whether an earlier part of the command makes this program work in production."""
    for one in among[:_MOST_EARLIER]:
        if one is invocation:
            return False
        if _selects_place(invocation, one):
            return True
    return False


def _selects_place(invocation: Invocation, earlier: Invocation) -> bool:
    name, words = _basename(earlier), [word.value or "" for word in earlier.words[1:]]
    if any(_ENVIRONMENT_FILE.search(word.source) for word in earlier.words[1:]):
        return True
    if not earlier.words or name in _SETS_VARIABLES:
        values = ((each.name, each.value.source) for each in earlier.assignments if each.value)
        return any(is_selection(*one) for one in values)
    if name in _SOURCES:
        return any(map(IN_USE.search, words))
    own = _basename(invocation)
    related = name == own or any(name in one and own in one for one in _FAMILIES)
    selecting = any(map(_SELECTS.fullmatch, words)) or not words[1:]
    return related and selecting and any(map(IN_USE.search, words))


def _basename(invocation: Invocation) -> str:
    return (invocation.program or "").rpartition("/")[2]
