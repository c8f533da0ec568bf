# cupola/error.pyi - converts a status of libcupola.so to an exception.
from collections.abc import Callable

AFTER_WAIT: list[Callable[[int], None] | None]
