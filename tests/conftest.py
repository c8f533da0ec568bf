"""tests/conftest.py - which driver the tests run on, and the markers that depend on it."""

import functools
import importlib.metadata
import os
import subprocess
import sys

import pytest

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
"""


def pytest_addoption(parser):
    parser.addoption(
        "--driver",
        choices=("cpu", "cuda", "auto"),
        help="what CUPOLA_DRIVER is for the tests (default: cuda where there is a GPU, else cpu)",
    )


@functools.cache
def chosen(config):
    """What CUPOLA_DRIVER is for the tests; processes of theirs have it from the first one."""
    if hasattr(config, "workerinput"):
        return os.environ["CUPOLA_DRIVER"]
    choice = config.getoption("--driver")
    if choice is None:
        found = subprocess.run([sys.executable, "-c", HAS_GPU], capture_output=True)
        choice = "cpu" if found.returncode else "cuda"
    return choice


def pytest_configure(config):
    # Before cupola is imported, and for the processes that tests start.
    os.environ["CUPOLA_DRIVER"] = chosen(config)
    config.addinivalue_line("markers", "cuda_only(reason): runs on NVIDIA's driver alone")
    config.addinivalue_line("markers", "cpu_only(reason): runs on the CPU device alone")
    config.addinivalue_line("markers", "slow: takes tens of seconds")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """`-n auto`: two processes, but one on a GPU, whose free memory several tests look at.

    More would not end sooner, since files are what is dealt out, and the longest take minutes.
    """
    return 2 if chosen(config) == "cpu" and len(os.sched_getaffinity(0)) > 1 else 0


# What takes minutes begins first where files are dealt out, the longest before the others.
LONGEST = ("sanitizer", "install", "fuzz")


def pytest_collection_modifyitems(config, items):
    if hasattr(config, "workerinput"):
        places = {name: place for place, name in enumerate(LONGEST)}
        items.sort(key=lambda item: places.get(item.path.parent.name, len(places)))


PEERS = ("numpy", "cupy", "torch", "jax", "cuda-core", "ml_dtypes")


def pytest_report_header(config):
    found = {d.metadata["Name"]: d.version for d in importlib.metadata.distributions()}
    peers = [
        f"{name} {version}"
        for name, version in sorted(found.items())
        if name and name.startswith(PEERS)
    ]
    return f"CUPOLA_DRIVER={os.environ['CUPOLA_DRIVER']}\npeers: {', '.join(peers)}"


@pytest.fixture(scope="session")
def driver():
    """What the tests run on: "cpu" or "cuda"."""
    import cupola

    return cupola.driver.info().kind


@pytest.fixture(autouse=True)
def _only_where_it_can_run(request):
    for other, name in (("cpu", "cuda_only"), ("cuda", "cpu_only")):
        marker = request.node.get_closest_marker(name)
        if marker is not None and request.getfixturevalue("driver") == other:
            reason = marker.kwargs.get("reason") or (marker.args[0] if marker.args else "")
            assert reason, f"{name} wants a reason"
            pytest.skip(f"{name}: {reason}")
