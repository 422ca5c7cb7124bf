"""What building an index took over its life, as its header keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from minirag.records import Usage


def usage_in(header: Mapping[str, Any]) -> Usage:
    """What a header says that building took; older files do not say it by task."""
    usage = Usage.from_dict({**header["usage"], "tasks": header.get("usage_by_task", {})})
    uncounted = header.get("usage_uncounted", {})
    tasks = {task: replace(part, uncounted=uncounted.get(task, 0)) for task, part in usage.tasks.items()}
    return replace(usage, tasks=tasks, uncounted=sum(uncounted.values()))


def usage_to_header(usage: Usage) -> dict[str, Any]:
    """The entries of a header; the sum stands alone, as older versions of minirag read it, as does what they lack."""
    values = usage.to_dict()
    by_task = values.pop("tasks")
    del values["uncounted"]
    uncounted = {task: number for task, part in by_task.items() if (number := part.pop("uncounted"))}
    return {"usage": values, "usage_by_task": by_task, **({"usage_uncounted": uncounted} if uncounted else {})}
