"""Many tasks in many workspaces: a fleet, the workers that run it, and limits for tenants."""

from handrail.scale.executor import FleetExecutor, LocalExecutor
from handrail.scale.fleet import Fleet, FleetOptions
from handrail.scale.ray_executor import RayExecutor
from handrail.scale.report import FleetReport
from handrail.scale.tenants import TenantLimits

__all__ = [
    "Fleet",
    "FleetExecutor",
    "FleetOptions",
    "FleetReport",
    "LocalExecutor",
    "RayExecutor",
    "TenantLimits",
]
