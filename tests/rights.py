"""Permissions that hold for root, too: containers run tests as root, to whom none is ever denied."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

VERSION_3 = 0x20080522  # _LINUX_CAPABILITY_VERSION_3 of linux/capability.h
OVERRIDING = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH

MODES_HOLD = pytest.mark.skipif(
    sys.platform == "win32" or (sys.platform != "linux" and os.geteuid() == 0),
    reason="no modes of files there, or none that root can be held to",
)


@contextmanager
def ordinary_rights() -> Iterator[None]:
    """This thread, and those that it starts, may do with files what their modes allow their owner.

    Threads that run already keep their rights: what works in several is to be tried in a process of its own. Root stays
    root, so that it can import what lies in an environment that only root may read; as another user it could not.
    """
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(VERSION_3, 0)
    before, within = (ctypes.c_uint32 * 6)(), (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; twice
    for found in (before, within):
        if libc.capget(header, found):
            raise OSError(ctypes.get_errno(), "capget failed")
    within[0] &= ~OVERRIDING
    if libc.capset(header, within):
        raise OSError(ctypes.get_errno(), "capset failed")
    try:
        yield
    finally:
        libc.capset(header, before)
