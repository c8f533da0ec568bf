# package/cupola/build/error.py - what a build that cannot go on raises.
"""The one exception of ``cupola.build``."""


class BuildError(RuntimeError):
    """A build cannot go on; the text says why and what to do."""
