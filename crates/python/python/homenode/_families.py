"""What there is to choose from: the families of `homenode list`."""

import json
from typing import Any

from . import _native


def members(family: str) -> list[dict[str, Any]]:
    """Members of a family, such as "policies" or "machines": name, summary and details of each."""
    found: list[dict[str, Any]] = json.loads(_native.members(family))["members"]
    return found


def policies() -> list[str]:
    """Names of the policies, with their parameters."""
    return [member["name"] for member in members("policies")]


def machines() -> list[str]:
    """Names of the machines."""
    return [member["name"] for member in members("machines")]


def protocols() -> list[str]:
    """Names of the protocols of page coherence."""
    return [member["name"] for member in members("protocols")]


def backends() -> list[str]:
    """Names of the capture backends."""
    return [member["name"] for member in members("backends")]
