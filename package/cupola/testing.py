# cupola/testing.py - runs tests under the checks of the CPU device, and in seeded orders.
"""The part of the pytest plugin that runs where one of its options is given."""

from __future__ import annotations

import ctypes
import functools
import linecache
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Generator

import pytest

import cupola
from cupola import paths
from cupola.exceptions import DriverError

CONTEXTS = {"call": "run"}  # as pytest-cov names them
NO_CONTEXT = (3, 4, 201)  # CUDA_ERROR_NOT_INITIALIZED, _DEINITIALIZED, _INVALID_CONTEXT
# Prints which driver a test would use, and why.
ASK = "import cupola; info = cupola.driver.info(); print(info.kind); print(info.reason)"


@functools.cache
def device_kinds() -> tuple[list[str], str]:
    """The parameters of the fixture `cupola_device`, and why it has no other.

    A process of its own finds out: the tests decide themselves when a driver is initialized.
    """
    if os.environ.get("CUPOLA_DRIVER") == "cpu":
        return ["cpu"], "CUPOLA_DRIVER=cpu"
    done = subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True)
    if done.returncode != 0:
        raise pytest.UsageError(
            f"cupola_device: no driver could be loaded\n{done.stderr.strip().splitlines()[-1]}"
        )
    kind, reason = done.stdout.splitlines()
    return (["cpu"], f"no GPU: {reason}") if kind == "cpu" else (["cpu", "cuda"], reason)


class Kernels:
    """Fails tests with findings; sets the seed and the context of coverage of each test."""

    def __init__(
        self, checks: str | None, seed: int | None, orders: int | None, coverage: str | None
    ) -> None:
        self.checks = checks
        self.seed = (seed or 0) if orders else seed
        self.orders = orders or 1
        self.broken_by = ""  # the test after which the device is unusable
        self.other_items = 0  # tests that run in one order alone
        self.has_raised = False  # a driver's error, in the current phase
        if os.environ.get("CUPOLA_DRIVER", "") not in ("", "auto", "cpu"):
            raise pytest.UsageError(
                f"CUPOLA_DRIVER={os.environ['CUPOLA_DRIVER']}: --cupola-check, --cupola-seed, "
                "--cupola-orders and --cupola-coverage need the CPU device; set CUPOLA_DRIVER=cpu "
                "or leave it out"
            )
        self.runtime = ctypes.CDLL(os.fspath(paths.library()))
        self.driver = ctypes.CDLL(os.fspath(paths.cpu_driver()))
        self.driver.cupola_cpu_set_seed.argtypes = [ctypes.c_int, ctypes.c_ulonglong]
        self.driver.cupola_cpu_take_findings.restype = ctypes.c_char_p
        self.driver.cupola_cpu_last_fault.restype = ctypes.c_char_p
        if checks and self.runtime.cupola_driver_loaded():
            raise pytest.UsageError(
                "--cupola-check: a plugin has used a device already, and the checks are chosen "
                f"before that; set CUPOLA_CPU_CHECK={checks} for this run, too"
            )
        os.environ["CUPOLA_DRIVER"] = "cpu"
        if checks:
            os.environ["CUPOLA_CPU_CHECK"] = checks
            self.driver.cupola_cpu_take_findings()  # from now on they are kept
        self.coverage = ""
        if coverage is not None:
            self.coverage = str(cupola.coverage.start(coverage or None))
        self._watch_errors()

    def _watch_errors(self) -> None:
        """Note the driver's errors: a test may expect one, as of an assert in a kernel."""
        create = DriverError.__init__

        @functools.wraps(create)
        def noted(error: DriverError, *arguments: object, **keywords: object) -> None:
            self.has_raised = True
            create(error, *arguments, **keywords)  # type: ignore[arg-type]

        DriverError.__init__ = noted  # type: ignore[method-assign, assignment]

    def pytest_report_header(self) -> str:
        parts = [f"checks: {self.checks}"] if self.checks else []
        parts += [f"coverage: {self.coverage}"] if self.coverage else []
        if self.seed is not None:
            last = self.seed + self.orders - 1
            parts.append(f"seed: {self.seed}" + (f" to {last}" if self.orders > 1 else ""))
        return f"cupola: CPU device, {', '.join(parts)}"

    # ---- orders

    @pytest.hookimpl(trylast=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if self.orders > 1 and self.seed is not None:
            seeds = range(self.seed, self.seed + self.orders)
            metafunc.fixturenames.append("_cupola_order")
            metafunc.parametrize(
                "_cupola_order", seeds, indirect=True, ids=[f"seed{seed}" for seed in seeds]
            )

    @pytest.fixture
    def _cupola_order(self, request: pytest.FixtureRequest) -> int:
        return request.param

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.orders > 1:
            self.other_items = sum(not hasattr(item, "callspec") for item in items)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.other_items:
            one = self.other_items == 1
            which = "test that is not a function" if one else "tests that are not functions"
            terminalreporter.write_line(
                f"cupola: {self.other_items} {which} ran in the order of seed {self.seed} alone"
            )

    def seed_of(self, item: pytest.Item) -> int | None:
        params = getattr(getattr(item, "callspec", None), "params", {})
        return params.get("_cupola_order", self.seed)

    def repeat(self, item: pytest.Item) -> str:
        """The command that runs a test again in the same order."""
        seed = self.seed_of(item)
        test = re.sub(rf"\[seed{seed}\]$", "", item.nodeid)
        test = re.sub(rf"-seed{seed}\]$", "]", test)
        words = ["pytest", test, f"--cupola-seed={seed}"]
        return shlex.join([*words, f"--cupola-check={self.checks}"] if self.checks else words)

    def pytest_sessionfinish(self) -> None:
        if self.coverage:
            cupola.coverage.stop()

    # ---- each test

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, object, object]:
        return (yield from self._watched(item, "setup"))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        return (yield from self._watched(item, "call"))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, object, object]:
        return (yield from self._watched(item, "teardown"))

    def _watched(self, item: pytest.Item, when: str) -> Generator[None, object, object]:
        # Each phase begins its order again: fixtures of a module run before one test alone.
        self.has_raised = False
        seed = self.seed_of(item)
        if seed is not None:
            self.driver.cupola_cpu_set_seed(1, seed)
        if self.coverage:
            cupola.coverage.switch_context(f"{item.nodeid}|{CONTEXTS.get(when, when)}")
        try:
            result = yield
        except BaseException:
            self._finish(item, when, failed=True)
            raise
        self._finish(item, when, failed=False)
        return result

    def _finish(self, item: pytest.Item, when: str, failed: bool) -> None:
        """Wait for the launches of this phase, and report its findings."""
        was_broken, expected = self.broken_by, self.has_raised
        error = self._wait(item)
        notes = ["" if expected else error, self._findings()]
        if was_broken and failed:
            notes.append(f"no test can use the device since {was_broken} made a launch fail")
        text = "\n".join(filter(None, notes))
        if not text and not failed:
            return
        if self.seed_of(item) is not None:
            item.add_report_section(
                when, "cupola", f"seed {self.seed_of(item)}; to repeat it: {self.repeat(item)}"
            )
        if text and failed:
            item.add_report_section(when, "cupola findings", text)
        elif text:
            pytest.fail(text, pytrace=False)

    def _wait(self, item: pytest.Item) -> str:
        """The error of a launch; of the current context, where the driver is another library's."""
        if self.broken_by:
            return ""
        if not self.runtime.cupola_driver_loaded():
            code = self.driver.cuCtxSynchronize()
            if code in (0, *NO_CONTEXT):
                return ""
            self.broken_by = item.nodeid
            return self.driver.cupola_cpu_last_fault().decode(errors="replace")
        try:
            cupola.Device().synchronize()
        except DriverError as error:
            self.broken_by = item.nodeid
            return str(error)
        return ""

    def _findings(self) -> str:
        if not self.checks:
            return ""
        lines: list[str] = []
        for line in self.driver.cupola_cpu_take_findings().decode(errors="replace").splitlines():
            lines.append(line.removeprefix("========= cupola: ").replace("=========", "", 1))
            if place := re.search(r"PTX line \d+ \((.+):(\d+)\)$", line):
                source = linecache.getline(place[1], int(place[2])).strip()
                lines += [f"         > {source}"] if source else []
        return "\n".join(lines)
