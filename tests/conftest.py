"""tests/conftest.py - which driver the tests run on, which tests that leaves out, and which may be
skipped.
"""

import functools
import gc
import importlib.metadata
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import rotation

# Asked in a process of its own: the tests decide themselves when a driver is initialised.
HAS_GPU = """
import ctypes, sys
try:
    driver = ctypes.CDLL("libcuda.so.1")
except OSError:
    sys.exit("no libcuda.so.1")
count = ctypes.c_int()
if hasattr(driver, "cupola_cpu_device"):
    sys.exit("the loader's path leads to the CPU device")
if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or count.value == 0:
    sys.exit("no device")
print(count.value)
"""


def pytest_addoption(parser):
    parser.addoption(
        "--driver",
        choices=("cpu", "cuda", "auto"),
        help="what CUPOLA_DRIVER is for the tests (default: cuda where there is a GPU, else cpu)",
    )
    parser.addoption(
        "--no-skips",
        action="store_true",
        help="a test that is skipped has failed, unless tests/skips.txt names it",
    )
    parser.addoption("--slice", metavar="K/N", help="run each N-th test alone, from the K-th on")
    parser.addoption(
        "--campaigns",
        choices=("all", "none", "only"),
        default="all",
        help="run tests that build packages, sweep or sample for minutes, or not, or those alone",
    )
    parser.addoption(
        "--campaign-slice",
        metavar="K/N",
        default="0/1",
        help="of the files with such tests, run each N-th alone, from the K-th on",
    )


@functools.cache
def chosen(config):
    """The tests' CUPOLA_DRIVER; worker processes inherit it from the first process."""
    if hasattr(config, "workerinput"):
        return os.environ["CUPOLA_DRIVER"]
    return config.getoption("--driver") or present()


@functools.cache
def gpus():
    """How many GPUs this machine has."""
    found = subprocess.run([sys.executable, "-c", HAS_GPU], capture_output=True)
    return 0 if found.returncode else int(found.stdout)


def present():
    """The driver that this machine has."""
    return "cuda" if gpus() else "cpu"


def left_out(config, items):
    """The tests of the other driver, and those of more GPUs than there are.

    They are deselected: there is nothing to skip.
    """
    kind = present() if chosen(config) == "auto" else chosen(config)
    name = "cuda_only" if kind == "cpu" else "cpu_only"
    for item in items:
        if kind == "cuda" and gpus() < 2 and item.get_closest_marker("several_devices"):
            yield item
            continue
        marker = item.get_closest_marker(name)
        if marker is not None:
            reason = marker.kwargs.get("reason") or (marker.args[0] if marker.args else "")
            assert reason, f"{item.nodeid}: {name} wants a reason"
            yield item


# Folders whose tests are campaigns. Single files and tests have the marker.
CAMPAIGNS = {
    "compilers": "environments with compilers of hundreds of megabytes",
    "compiled": "a nested run of a slice of the tests in another mode of the CPU device",
    "fuzz": "a build of each fuzzer",
    "install": "builds and installs of wheels",
    "sanitizer": "a build of the libraries under each sanitizer",
    "soak": "many calls that must leave nothing behind",
}


def mark_campaigns(items):
    for item in items:
        if reason := CAMPAIGNS.get(item.path.parent.name):
            item.add_marker(pytest.mark.campaign(reason))


def chosen_campaigns(config, items):
    """Of the items, those that --campaigns and --campaign-slice leave."""
    which = config.getoption("--campaigns")
    first, count = map(int, config.getoption("--campaign-slice").split("/"))
    campaigns = [item for item in items if item.get_closest_marker("campaign")]
    files = sorted({item.path for item in campaigns})
    kept = set(files[first % count :: count]) if which != "none" else set()
    for item in items:
        campaign = item.get_closest_marker("campaign")
        if campaign is not None:
            assert campaign.args, f"{item.nodeid}: campaign wants a reason"
        if item.path in kept if campaign else which != "only":
            yield item


def pytest_configure(config):
    # Before cupola is imported, and for the processes that tests start.
    os.environ["CUPOLA_DRIVER"] = chosen(config)
    os.environ["CUPOLA_TEST_ROTATION"] = str(rotation.number())
    use_empty_cache(config)
    # A shell's background jobs ignore interrupts, and so do processes that they start.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Compilers in the background took a third of the processors, and when machine code replaced the
    # interpreter depended on the load. Tests of machine code set the variable themselves.
    os.environ.setdefault("CUPOLA_CPU_MODE", "ahead")
    config.pluginmanager.import_plugin("ptx.summary")
    config.addinivalue_line("markers", "cuda_only(reason): runs on NVIDIA's driver alone")
    config.addinivalue_line("markers", "cpu_only(reason): runs on the CPU device alone")
    config.addinivalue_line(
        "markers", "several_devices: needs two GPUs, or sets CUPOLA_CPU_DEVICES for its processes"
    )
    config.addinivalue_line(
        "markers",
        "campaign(reason): a build of its own, a sweep or a sample of minutes; `make campaigns`",
    )


def use_empty_cache(config):
    """A cache for this run alone, unless one is set: kernels are not those of another run."""
    if hasattr(config, "workerinput") or "CUPOLA_CACHE_DIR" in os.environ:
        return
    folder = tempfile.mkdtemp(prefix="cupola-tests-")
    os.environ["CUPOLA_CACHE_DIR"] = folder
    # A compiler that still runs may write to the folder; its file is lost.
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """`-n auto`: two processes, but one on a GPU, whose free memory several tests look at.

    More would not end sooner, since files are what is dealt out, and the longest take minutes.
    """
    return 2 if chosen(config) == "cpu" and len(os.sched_getaffinity(0)) > 1 else 0


# The longest folders and files, which start before the shorter ones when files are distributed:
# several minutes in the folders, 15 s of processor time or more in the files. Files beside the
# folders start last: tests of the driver functions reset primary contexts, with all modules that
# the runtime has loaded in the same process.
LONGEST = (
    "sanitizer", "install", "fuzz", "compiled", "test_recipe", "test_rows", "test_mpi",
    "test_programs", "test_headers", "test_cli_images", "test_site", "test_docs", "test_reduce",
    "test_native_narrow", "test_random_corners", "test_cli", "test_run",
)  # fmt: skip


def pytest_collection_modifyitems(config, items):
    if out := list(left_out(config, items)):
        config.hook.pytest_deselected(items=out)
        out = set(out)
        items[:] = [item for item in items if item not in out]
    mark_campaigns(items)
    kept = list(chosen_campaigns(config, items))
    if len(kept) != len(items):
        config.hook.pytest_deselected(items=list(set(items) - set(kept)))
        items[:] = kept
    if slice_of := config.getoption("--slice"):
        first, count = map(int, slice_of.split("/"))
        config.hook.pytest_deselected(
            items=[item for n, item in enumerate(items) if n % count != first % count]
        )
        items[:] = items[first % count :: count]
    if hasattr(config, "workerinput"):
        places = {name: place for place, name in enumerate(LONGEST)}
        items.sort(
            key=lambda item: (
                item.path.parent == Path(__file__).parent,
                places.get(item.path.stem, places.get(item.path.parent.name, len(places))),
            )
        )


def pytest_collection_finish(session):
    """Exclude the tests and their modules from garbage collection.

    They are half a million objects, and hundreds of tests call gc.collect().
    """
    gc.collect()
    gc.freeze()


PEERS = ("numpy", "cupy", "torch", "jax", "cuda-core", "ml_dtypes")


def pytest_report_header(config):
    found = {d.metadata["Name"]: d.version for d in importlib.metadata.distributions()}
    peers = [
        f"{name} {version}"
        for name, version in sorted(found.items())
        if name and name.startswith(PEERS)
    ]
    choices = f"CUPOLA_DRIVER={os.environ['CUPOLA_DRIVER']}, rotation {rotation.number()}"
    return f"{choices}\npeers: {', '.join(peers)}"


@pytest.fixture(scope="session")
def driver():
    """The kind of driver that the tests run on: "cpu" or "cuda"."""
    import cupola

    return cupola.driver.info().kind


SKIPS = Path(__file__).with_name("skips.txt")


@functools.cache
def may_skip():
    """Patterns of tests/skips.txt, whose lines are a node ID with any number of * and a reason."""
    patterns = []
    for line in SKIPS.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, reason = re.split(r" {2,}", line.strip(), maxsplit=1)
            assert reason, f"{SKIPS}: {name} wants a reason"
            patterns.append(".*".join(map(re.escape, name.split("*"))))
    return re.compile("|".join(patterns) or r"(?!)")


def refuse_skip(config, report):
    """Make a failure of a skip that skips.txt does not name."""
    if report.skipped and not hasattr(report, "wasxfail") and config.getoption("--no-skips"):
        name = Path(config.rootpath, report.nodeid).as_posix()
        name = name.removeprefix(f"{SKIPS.parent.parent.as_posix()}/")
        if not may_skip().fullmatch(name):
            report.outcome = "failed"
            report.longrepr = f"{name}: {report.longrepr[2]}; {SKIPS.name} does not name it"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    refuse_skip(item.config, report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    report = yield
    refuse_skip(collector.config, report)
    return report
