# cupola/variant_choice.pyi - the variant of a key: the nearest measured row that can be launched.
from collections.abc import Iterable, Sequence
from typing import Any

from cupola.declare.family import FamilyDeclaration

class LaunchSteps:
    def __init__(
        self,
        declaration: FamilyDeclaration,
        first_tunable: int,
        sizes: Sequence[Sequence[tuple[int, int]]],
        launch: Sequence[Sequence[tuple[int, int]]],
        key: Sequence[int],
        values: Sequence[Sequence[int]],
    ) -> None: ...
    def evaluated(
        self, variant: int, given: tuple[int, ...]
    ) -> tuple[tuple[int, ...], tuple[tuple[int, ...], tuple[int, ...], int]]: ...

class Entry:
    variant: int
    row: int
    far: bool
    refused: dict[int, Exception]

class Chooser:
    device: int
    types: tuple[str, ...]
    tunes: bool
    def __init__(
        self,
        steps: LaunchSteps,
        device: int,
        types: tuple[str, ...],
        rows: Sequence[tuple[int, tuple[int, ...], int]],
        default: int,
        dropped: Iterable[int],
        tunes: bool,
    ) -> None: ...
    def choose_for(self, family: Any, given: tuple[int, ...]) -> Entry: ...
    def distances(self, key: tuple[int, ...]) -> list[float]: ...
