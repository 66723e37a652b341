"""What keeps track of the changes that commands make, put together."""

from __future__ import annotations

import logging
import shutil
import tempfile
from pathlib import Path

from handrail.app_machine import Machine
from handrail.config.settings import Settings
from handrail.core.ports import Blobs, Clock
from handrail.core.shadows import ShadowLimits
from handrail.engine.effects import CommandEffects
from handrail.history.effects import Keeping
from handrail.host.shadow.local import LocalShadow

_log = logging.getLogger("handrail")


def track_commands(
    machine: Machine, settings: Settings, blobs: Blobs | None, clock: Clock
) -> CommandEffects | None:
    """Let commands be looked at before and after they run; None where nothing is kept."""
    if machine.commands is None or blobs is None:
        return None
    files, directory = machine.files, machine.home.directory
    if directory is None:
        directory = Path(tempfile.mkdtemp(prefix="handrail-"))
        machine.ends.callback(shutil.rmtree, directory, ignore_errors=True)
    limits = ShadowLimits(
        settings.shadow_files, settings.shadow_mb << 20, settings.shadow_file_mb << 20
    )
    roots = [(path, files.handle(number)) for number, path in enumerate(files.roots)]
    try:
        shadow = LocalShadow(roots, directory / "shadow", limits=limits, hidden=machine.hidden)
    except OSError as error:
        _log.warning("what commands change cannot be kept: %s", error)
        return None
    machine.ends.callback(shadow.close)
    keeping = Keeping(files, shadow, blobs, breaks_links=settings.break_hard_links)
    effects = CommandEffects(keeping, clock, whole=settings.shadow)
    machine.commands.runner.effects = effects
    return effects
