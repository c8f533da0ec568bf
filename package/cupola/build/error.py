# package/cupola/build/error.py - the exception of cupola.build.
"""The one exception of ``cupola.build``."""

from ..exceptions import Error


class BuildError(Error, RuntimeError):
    """A build cannot go on; the text says why and what to do."""
