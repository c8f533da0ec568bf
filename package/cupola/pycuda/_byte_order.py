# cupola/pycuda/_byte_order.py - host arrays whose elements are not in the machine's byte order.
"""Byte orders: a device's memory has the machine's."""

from __future__ import annotations

from typing import Any

import numpy as np


def is_in_machine_order(host: Any) -> bool:
    """Whether a host array or another buffer needs no conversion."""
    return not isinstance(host, (np.ndarray, np.generic)) or host.dtype.isnative


def in_machine_order(host: Any) -> Any:
    """The host array itself, or a copy of it that is converted."""
    if is_in_machine_order(host):
        return host
    return host.astype(host.dtype.newbyteorder("="))
