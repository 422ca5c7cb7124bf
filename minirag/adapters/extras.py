"""What an adapter says when its framework is not installed."""

from __future__ import annotations


def missing(extra: str, error: ImportError) -> ImportError:
    """The error of a framework that is not there, with what to do about it.

    Args:
        extra: Of minirag, by which it is installed.
        error: What importing it raised.
    """
    message = f"{error.msg}: minirag.adapters needs it here. Install it: pip install 'minirag[{extra}]'"
    return ImportError(message, name=error.name, path=error.path)
