# cupola/tools/timeline/picture.py - draws profiles with matplotlib.
"""Profiles as pictures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cupola.core.result_types import Operation
from cupola.tools.timeline.tracks import Tracks

# Colours of a picture by kind; distinguishable in grey and for colour-blind readers.
_COLOURS = {
    "copy to the device": "#56b4e9",
    "launch": "#d55e00",
    "graph": "#8c3f00",
    "copy to the host": "#009e73",
    "copy on the device": "#f0e442",
    "fill": "#cc79a7",
    "host": "#999999",
    "wait": "#dddddd",
    "range": "#e69f00",
}


def figure_class() -> Any:
    """The Figure of matplotlib; ImportError where it is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "drawing a profile needs matplotlib, which is not installed: "
            "pip install matplotlib (or cupola[plot])"
        ) from error
    return Figure


def draw(operations: list[Operation], names: dict[int, str], width: float) -> Any:
    tracks = Tracks(names)
    rows = _rows(operations, tracks)
    figure = figure_class()(figsize=(width, 1.3 + 0.42 * max(len(rows), 1)), layout="constrained")
    axes = figure.add_subplot()
    unit, scale = "ms", 1e3
    first = min((begin for row in rows.values() for begin, _, _ in row), default=0)
    last = max((end for row in rows.values() for _, end, _ in row), default=1e-3)
    if last - first < 2e-3:
        unit, scale = "µs", 1e6
    elif last - first >= 20:
        unit, scale = "s", 1
    labels, shown = [], {}
    for place, (track, row) in enumerate(rows.items()):
        labels.append(_label(tracks, *track))
        for kind, colour in _COLOURS.items():
            spans = [
                (scale * begin, scale * (end - begin)) for begin, end, o in row if o.kind == kind
            ]
            if spans:
                shown[kind] = axes.broken_barh(
                    spans, (place - 0.4, 0.8), facecolors=colour, edgecolors="black", linewidth=0.3
                )
        _write_names(axes, row, place, scale, last - first)
    axes.set_yticks(range(len(rows)), labels)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    margin = 0.005 * (last - first)
    axes.set_xlim(scale * (first - margin), scale * (last + margin))
    axes.set_xlabel(f"time, {unit}")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)
    if shown:
        figure.legend(
            shown.values(), shown.keys(), loc="outside upper center", ncols=len(shown),
            frameon=False,
        )  # fmt: skip
    return figure


def _rows(operations: Iterable[Operation], tracks: Tracks) -> dict[Any, list[Any]]:
    """The bars of each row: (begin, end, operation).

    A thread's ranges enclose its calls, so they have a separate row.
    """
    rows: dict[Any, list[Any]] = {}
    for operation in operations:
        process, thread = tracks.of_thread(operation)
        rows.setdefault((process, thread, operation.kind != "range"), []).append(
            (operation.call_begin, operation.call_end, operation)
        )
        stream = tracks.of_stream(operation)
        if stream is not None:
            rows.setdefault((*stream, True), []).append((operation.begin, operation.end, operation))
    # Threads first, then the streams by device and number.
    return dict(sorted(rows.items(), key=lambda item: item[0]))


def _label(tracks: Tracks, process: int, number: int, calls: bool) -> str:
    if process == 0:
        return tracks.name_of_thread(number) if calls else ""
    name = tracks.name_of_stream(process - 1, number).split(" (")[0]
    return name if len(tracks.streams) == 1 else f"device {process - 1}, {name}"


def _write_names(axes: Any, row: list[Any], place: int, scale: float, whole: float) -> None:
    """The names of kernels, ranges and the host's work, where they fit into their bars."""
    for begin, end, operation in row:
        if operation.kind not in ("launch", "graph", "host", "range"):
            continue
        share = (end - begin) / whole
        of_device = operation.kind in ("launch", "graph")
        if share * 150 < len(operation.name) + 1:  # about the number of characters that fit
            continue
        axes.text(
            scale * (begin + end) / 2, place, operation.name, ha="center", va="center",
            fontsize=7, color="white" if of_device else "black", clip_on=True, zorder=3,
        )  # fmt: skip
