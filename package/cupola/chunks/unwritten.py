# cupola/chunks/unwritten.py - checks what the default grid leaves out of the first chunk.
"""The check of a pipeline's first output, by its first chunk."""

from __future__ import annotations

from collections.abc import Callable

from cupola.chunks.host_arrays import HostArrays
from cupola.core.unwritten import is_large, mark, new_pattern, require_written
from cupola.pipelines import Pipeline

Report = Callable[[int, int], object]
REMEDY = (
    "as in grid=Chunk.length, or threads=, as in threads=lambda chunk: chunk.length, where this is "
    "right"
)


class Unwritten:
    """Marks the output of the slots, and checks the first chunk once it is on the host.

    Parameters
    ----------
    title : str
        The kernel.
    pipeline : Pipeline
    hosts : HostArrays
    grid : int
        The blocks of the first chunk's launch.
    """

    def __init__(self, title: str, pipeline: Pipeline, hosts: HostArrays, grid: int) -> None:
        self.title, self.grid, self.place = title, grid, hosts.outputs[0]
        self.output = hosts.arrays[self.place][: pipeline.length]
        pattern = new_pattern(self.output.nbytes)
        for slot in pipeline.slots:
            with slot.stream:
                mark(pipeline.device_array(slot.index, self.place), pattern)
        self.pattern = pattern
        self.checked = False

    @staticmethod
    def applies(pipeline: Pipeline, hosts: HostArrays) -> bool:
        """Whether the output tells which elements a launch has written."""
        if not hosts.outputs or hosts.outputs[0] in hosts.inputs or not pipeline.chunk_count:
            return False
        output = hosts.arrays[hosts.outputs[0]][: pipeline.length]
        return bool(output.nbytes) and is_large(output.shape)

    def before(self, report: Report | None) -> Report:
        """A report of progress that checks the first chunk, which is done at the first report."""

        def checked_report(done: int, rows: int) -> None:
            self.check()
            if report is not None:
                report(done, rows)

        return checked_report

    def check(self) -> None:
        """Refuse the kernel where its rows are blocks of the grid. Only the first call checks."""
        if self.checked:
            return
        self.checked = True
        require_written(self.title, self.output, self.pattern, self.grid, REMEDY)
