# cupola/tools/command/values.py - checks the values of command-line options.
"""Types of options, for argparse."""

from __future__ import annotations

import argparse
import math


def positive(text: str) -> int:
    """An option's whole number from 1 on, as a kernel's int can hold."""
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"not a whole number: {text!r}") from None
    if not 1 <= value < 2**31:
        raise argparse.ArgumentTypeError(f"must be 1 to {2**31 - 1}, got {value}")
    return value


def coordinate(text: str) -> float:
    """An option's finite number."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"not a number: {text!r}") from None
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"must be finite, got {text}")
    return value


def duration(text: str) -> float:
    """An option's seconds, above 0."""
    value = coordinate(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"must be above 0, got {text}")
    return value


def port(text: str) -> int:
    """A TCP port, for argparse; 0 lets the system choose."""
    if not text.isascii() or not text.isdigit() or len(text) > 5 or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a port from 0 to 65535")
    return int(text)


def word(text: str) -> str:
    """An option's text, which is not empty."""
    if not text.strip():
        raise argparse.ArgumentTypeError("expected a text, got an empty one")
    return text


def number(text: str) -> int:
    """An option's whole number from 0 on."""
    if not text.isascii() or not text.isdigit() or int(text) >= 2**63:
        raise argparse.ArgumentTypeError(f"expected a number from 0 on, got {text!r}")
    return int(text)


def tolerance(text: str) -> float:
    """An option's tolerance, from 0 on."""
    value = coordinate(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"must be 0 or more, got {text}")
    return value
