"""cupola.mpi: programs of tests/mpi_programs on several ranks, directly and staged."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "mpi_programs"
DIRECT, STAGED = "host memory of the CPU device", "staged through pinned memory"
POINTERS = "device pointers"


def started(ranks, *arguments, seconds=120, **variables):
    """Run Python on so many ranks; a rank's error ends them all."""
    mpiexec = Path(sys.prefix) / "bin" / "mpiexec"
    command = [str(mpiexec), "-n", str(ranks), sys.executable, *map(str, arguments)]
    # Each rank has one thread: three ranks poll on few processors.
    defaults = {"CUPOLA_MPI_DEVICE_POINTERS": "", "CUPOLA_CPU_THREADS": "1"}
    environment = {**os.environ, **defaults, **variables}
    return subprocess.run(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
    )


def output(ranks, program, *arguments, **variables):
    path = PROGRAMS / program
    done = started(ranks, "-m", "mpi4py", path, *arguments, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def library_takes_pointers():
    """The MPI library's answer. Of those on PyPI, only Intel's can."""
    program = "from cupola.mpi.transport import library_support; print(library_support()[0])"
    return "True" in started(1, "-c", program).stdout


@pytest.fixture
def expected_transport(driver, library_takes_pointers):
    """The transport by the value of CUPOLA_MPI_DEVICE_POINTERS."""
    unset = DIRECT if driver == "cpu" else POINTERS if library_takes_pointers else STAGED
    return {"": unset, "0": STAGED}


@pytest.mark.parametrize(
    ("ranks", "pointers"), [(1, ""), (3, ""), (2, "0"), (3, "0")], ids=lambda value: str(value)
)
def test_messages(expected_transport, ranks, pointers):
    expected = expected_transport[pointers]
    found = output(ranks, "messages.py", expected, CUPOLA_MPI_DEVICE_POINTERS=pointers)
    assert found.count("all as expected") == ranks


@pytest.mark.parametrize(("ranks", "pointers"), [(3, ""), (1, "0"), (3, "0")])
def test_collectives(expected_transport, ranks, pointers):
    expected = expected_transport[pointers]
    found = output(ranks, "collectives.py", expected, CUPOLA_MPI_DEVICE_POINTERS=pointers)
    assert found.count("all as expected") == ranks


@pytest.mark.parametrize("program", ["messages.py", "collectives.py"])
def test_messages_that_are_not_staged_are_cut_too(expected_transport, program):
    assert output(3, program, expected_transport[""], "cut").count("all as expected") == 3


@pytest.mark.cpu_only(reason="an MPI library without CUDA would read the GPU's addresses")
@pytest.mark.parametrize("program", ["messages.py", "collectives.py"])
@pytest.mark.parametrize("cut", [(), ("cut",)], ids=["whole", "cut"])
def test_memory_of_pools_is_copied_for_device_pointers(program, cut):
    """MPI gets memory that other processes can open."""
    found = output(3, program, POINTERS, *cut, CUPOLA_MPI_DEVICE_POINTERS="1")
    assert found.count("all as expected") == 3


@pytest.mark.parametrize("pointers", ["", "0"])
def test_wrong_arguments(driver, pointers):
    variables = {"CUPOLA_MPI_DEVICE_POINTERS": pointers, "CUPOLA_CPU_DEVICES": "2"}
    assert output(3, "errors.py", **variables).count("all as expected") == 3


def test_arrays_in_calls_of_mpi4py(driver, library_takes_pointers):
    if driver == "cuda" and not library_takes_pointers:
        pytest.skip("the MPI library takes no device pointers")
    answer = "yes" if library_takes_pointers else "no"
    found = output(3, "plain.py")
    assert found.count(f"{answer}: MPIX_GPU_query_support says {answer}") == 3


def test_an_error_on_one_rank_ends_the_job():
    """No rank waits for the one that has failed."""
    done = started(3, "-m", "mpi4py", PROGRAMS / "failing.py", seconds=60)
    assert done.returncode != 0
    assert "Communicator.Send on rank 1: buf: expected a cupola.Array" in done.stderr


def test_what_decides_the_transport():
    assert output(1, "answers.py") == "all as expected\n"


def test_the_report(driver):
    done = started(2, "-m", "cupola.mpi", CUPOLA_MPI_DEVICE_POINTERS="0")
    first, second = done.stdout.splitlines()
    assert first.startswith("rank 0 on ") and second.startswith("rank 1 on ")
    assert all(f"{STAGED}: CUPOLA_MPI_DEVICE_POINTERS=0 says so" in x for x in (first, second))


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("None", "cupola.mpi needs mpi4py, which is not installed: pip install 'cupola[mpi]'"),
        (
            "types.SimpleNamespace(__version__='3.1.6')",
            "cupola.mpi needs mpi4py 4 or later, found 3.1.6",
        ),
    ],
)
def test_without_mpi4py(module, text):
    code = f"import sys, types; sys.modules['mpi4py'] = {module}; import cupola.mpi"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1 and f"ImportError: {text}" in done.stderr


def test_cupola_imports_no_mpi():
    code = "import sys, cupola; cupola.Array; sys.exit('mpi4py' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
