# tools/shipping.py - the sizes in docs/how-to/shipping.md, from records.
"""Tables of what packages ship: by example, beside nvcc, and beside builds for each torch."""

from __future__ import annotations

from collections.abc import Callable

from tables import ROOT, goal, origin, records, table, verdict

PAGE = ROOT / "docs" / "how-to" / "shipping.md"
COLLECTIONS = ("3 kernels", "200 products", "40 with CUB")
# Rows of the record `packages`, and what their authors have.
EXAMPLES = {
    "heat": "kernels in CUDA C++",
    "norm": "operations for three types, with their gradients",
    "matmul": "a kernel for wgmma, and a plain one",
    "rows": "kernels of Triton",
    "numba_rows": "kernels of Numba",
    "warp_rows": "kernels of Warp",
}
PEERS = ("cpp_extension", "kernel-builder")
MISSING = "There is no record of them yet.\n"


def sizes(found: list[records.Record]) -> str:
    """The generated part of the page."""
    newest = {record.name: record for record in sorted(found, key=lambda record: record.date)}
    return "\n".join([
        "Files that examples ship for 7 architectures, deflated as in a wheel:\n",
        _part(newest.get("packages"), _packages),
        "Sizes of images in kB. A load includes the first use of a kernel:\n",
        _part(newest.get("sizes"), _images),
        "The same kernels as extensions of PyTorch, in kB. A project publishes an extension for "
        "each version of Python, PyTorch and CUDA, or for each version of PyTorch and CUDA:\n",
        _part(newest.get("variants"), _variants),
    ])  # fmt: skip


def _part(record: records.Record | None, text: Callable[[records.Record], str]) -> str:
    if record is None:
        return MISSING
    return f"{text(record)}\n\n`{record.command}` on {origin(record)}.\n"


def _rows(record: records.Record) -> dict[str, records.Row]:
    return {row.what: row for row in record.rows}


def _kb(row: records.Row) -> str:
    return f"{row.value / 1000:,.1f}"


def _packages(record: records.Record) -> str:
    rows = _rows(record)
    cells = [
        [what, f"examples/{name}", _kb(rows[f"examples/{name}: files of the package"])]
        for name, what in EXAMPLES.items()
    ]
    return table(["what the package has", "example", "kB"], cells)


def _images(record: records.Record) -> str:
    rows, cells = _rows(record), []
    for name in COLLECTIONS:
        ratio, size_mode, later = (
            rows[f"{name}: {what}"]
            for what in (
                "packed by fatbin, in a wheel",
                "packed by nvcc's size mode",
                "a load of the packed image, later by",
            )
        )
        columns = ("fatbin in a wheel", "nvcc's size mode in a wheel", "packed, in a wheel")
        cells.append([
            name,
            *(_kb(rows[f"{name}: {column}"]) for column in columns),
            *(f"{one.value:.2f}, goal {goal(one).strip()} {verdict(one)}"
              for one in (ratio, size_mode)),
            f"{later.value:.2f} ms, goal {goal(later)} {verdict(later)}",
        ])  # fmt: skip
    headings = ["kernels", "nvcc's fatbin", "nvcc's size mode", "cupola", "of the fatbin",
                "of the size mode", "a load is later by"]  # fmt: skip
    return table(headings, cells)


def _variants(record: records.Record) -> str:
    rows, cells, notes = _rows(record), [], []
    for name in COLLECTIONS:
        own = rows[f"{name}: cupola, the package"]
        for peer in PEERS:
            one, every, ratio = (
                rows[f"{name}: {what}"]
                for what in (
                    f"{peer}, one variant",
                    f"{peer}, all variants",
                    f"cupola by all variants of {peer}",
                )
            )
            told = f"1/{1 / ratio.value:.0f}, goal {goal(ratio).strip()} {verdict(ratio)}"
            cells.append([name, _kb(own), peer, _kb(one), _kb(every), told])
            notes.append(f"{peer}: {every.note}.")
    headings = ["kernels", "cupola, the package", "peer", "one variant", "all variants",
                "cupola by all variants"]  # fmt: skip
    return "\n\n".join([table(headings, cells), *dict.fromkeys(notes)])
