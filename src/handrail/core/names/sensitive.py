"""Recognizes files that probably contain secrets by their names."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

_FILES: Final = re.compile(
    r"""(?x)
    \.env | \.env\..+ | .+\.env | \.envrc | \.netrc | _netrc | \.pgpass | \.pypirc | \.npmrc | \.yarnrc\.yml
    | \.git-credentials | \.htpasswd | \.my\.cnf | \.boto | \.s3cfg | \.dockercfg | \.vault-token
    | id_(?:rsa|dsa|ecdsa|ed25519)(?:_.+)? | .+\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|asc|gpg)
    | \.?credentials(?:\..+)? | secrets?(?:\..+)? | service-?account.*\.json | .+-credentials\.json
    | .+\.(?:tfstate|tfvars)(?:\..+)? | \.\w+_history | g?shadow | master\.key | kubeconfig | auth\.json
    """
)
_HARMLESS: Final = re.compile(r"\.env\.(?:dist|defaults)|(?:example|sample|template)\.env")
# Endings of source files, documents and examples; most files have one of them.
_HARMLESS_ENDINGS: Final = (
    *(".py", ".js", ".ts", ".md", ".go", ".rs", ".rb", ".java", ".html", ".rst"),
    *(".example", ".sample", ".template", ".pub"),
)
_FOLDERS: Final = frozenset((".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure", "gcloud"))
# A glob that matches one of these names asks for secrets, unless it matches nearly everything (`*`).
_SAMPLES: Final = (
    *(".env", ".env.local", ".netrc", ".npmrc", ".pypirc", ".git-credentials", "id_rsa"),
    *("id_ed25519", "server.pem", "server.key", "credentials", "secrets"),
)
_GLOB: Final = re.compile(r"[*?\[]")


@lru_cache(maxsize=4_096)
def is_sensitive(path: str, *, glob: bool = False) -> bool:
    """Whether a path, by its name or a directory in it, is one that contains secrets. With `glob` the
    path may be a glob.
    """
    parts = path.casefold().rstrip("/").split("/")
    if any(part in _FOLDERS for part in parts):
        return True
    name = parts[-1]
    if glob and _GLOB.search(name):
        letters = re.sub(r"[*?\[\]!^-]", "", name)
        # `.*` and `.??*` match the files that `*` does not, and most secrets are among them.
        asks = len(letters) > 1 or name.startswith(".")
        return asks and any(fnmatchcase(one, name) for one in _SAMPLES)
    return is_sensitive_name(name)


def is_sensitive_folder(path: str) -> bool:
    """Whether a directory, by its name or that of a directory above it, contains secrets."""
    return not _FOLDERS.isdisjoint(path.casefold().split("/"))


def is_sensitive_name(name: str) -> bool:
    """Whether a file name without its directory is one of files that contain secrets."""
    name = name.casefold()
    if name.endswith(_HARMLESS_ENDINGS):
        return False
    return _FILES.fullmatch(name) is not None and _HARMLESS.fullmatch(name) is None
