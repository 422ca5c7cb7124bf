"""What building an index took over its life, as its header keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minirag.records import Usage


def usage_in(header: Mapping[str, Any]) -> Usage:
    """What a header says that building took; older files do not say it by task."""
    return Usage.from_dict({**header["usage"], "tasks": header.get("usage_by_task", {})})


def usage_to_header(usage: Usage) -> dict[str, Any]:
    """The entries of a header; the sum stands alone, as older versions of minirag read it."""
    values = usage.to_dict()
    by_task = values.pop("tasks")
    return {"usage": values, "usage_by_task": by_task}
