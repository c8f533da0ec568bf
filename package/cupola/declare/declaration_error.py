# cupola/declare/declaration_error.py - the error of an invalid declaration.
"""`DeclarationError`, for declarations of operations, makers and families."""

from __future__ import annotations


class DeclarationError(ValueError):
    """A declaration is invalid.

    Attributes
    ----------
    key : str
        The key of the table, as in ``"outputs.v"``.
    text : str
        The problem with the key's value. The message has the key before it.
    """

    def __init__(self, key: str, text: str) -> None:
        super().__init__(f"{key}: {text}" if key else text)
        self.key, self.text = key, text
