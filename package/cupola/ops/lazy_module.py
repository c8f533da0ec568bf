# cupola/ops/lazy_module.py - modules of packages whose attributes are made when they are used.
"""The part that the modules of a package's operations, makers and families share."""

from __future__ import annotations

import difflib
import sys
import threading
from collections.abc import Callable, Collection
from typing import Any


class LazyModule:
    """The attributes of a module, each made when it is first used.

    Parameters
    ----------
    name : str
        The module's full name.
    names : collection of str
        Its attributes, in their order.
    noun : str
        The word for them in messages, such as ``"operations"``.
    make : callable, optional
        Makes an attribute of its name; by default a method of the subclass does.
    """

    def __init__(
        self,
        name: str,
        names: Collection[str],
        noun: str,
        make: Callable[[str], Any] | None = None,
    ) -> None:
        self.name = name
        self._names = names
        self._noun = noun
        self._given = make
        self._lock = threading.RLock()

    def attribute(self, name: str) -> Any:
        """An attribute. It loads no driver, and no kernel before its first call.

        Raises
        ------
        AttributeError
            Where there is none of this name; the text has similar names.
        NotFoundError, ImageError
            Where the package's image or its manifest is missing or invalid.
        """
        if name not in self._names:
            text = f"module {self.name!r} has no attribute {name!r}"
            if not name.startswith("__"):
                near = difflib.get_close_matches(name, self._names, 3)
                known = f"its {self._noun} are {', '.join(self._names)}"
                text += f"; did you mean {' or '.join(near)}?" if near else f"; {known}"
            raise AttributeError(text, name=name)
        module = sys.modules[self.name]
        with self._lock:  # one object, also where several threads use it first
            made = vars(module).get(name)
            if made is None:
                made = self._make(name)
                setattr(module, name, made)
                self._added(made)
        return made

    def attributes(self) -> list[str]:
        """Names for dir(): those that are made when used, and others."""
        return sorted({*vars(sys.modules[self.name]), *self._names})

    def _make(self, name: str) -> Any:
        if self._given is None:
            raise NotImplementedError
        return self._given(name)

    def _added(self, made: Any) -> None:
        """Called once the module has a new attribute."""
