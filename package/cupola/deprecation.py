# cupola/deprecation.py - the warning of an old name.
"""Old names of what was renamed; each is an alias that warns."""

from __future__ import annotations


def renamed(old: str, new: str, stacklevel: int = 2) -> None:
    """Warn that `old` is deprecated; compiled callers are no frame, so 2 is the user's line."""
    import warnings

    message = f"{old} is deprecated: use {new}"
    warnings.warn(message, DeprecationWarning, stacklevel=stacklevel)
