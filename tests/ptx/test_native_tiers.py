"""Kernels that run as machine code of the quick tier until the full tier is ready."""

import pytest
import rotation

from . import test_native
from .compiler_process import files_in, real_compiler, run, script

pytestmark = test_native.COMPILED

# Row ends between the lanes of a warp: there the checks in advance fail. The last warp of a block
# has inactive lanes. A register is constant where the block of the loop reads it, and has another
# value later.
LARGE = """
import re
WORK = "mul.lo.u32 %r5, %r5, %r0; xor.b32 %r5, %r5, %r7;" * 100
ROWS = ("rem.u32 %r6, %r4, 40; sub.u32 %r8, %r4, %r6; add.u32 %r6, %r6, -1; max.s32 %r6, %r6, 0;"
        "add.u32 %r6, %r6, %r8; mul.wide.u32 %rd6, %r6, 4; add.u64 %rd7, %rd1, %rd6;"
        "mov.u32 %r9, 0; mov.u32 %r5, %r4; mov.u32 %r10, 77;"
        "ON: ld.global.u32 %r7, [%rd7]; @!%p0 add.u32 %r7, %r7, 3; add.u32 %r5, %r5, %r10;" + WORK +
        "add.u32 %r9, %r9, 1; setp.lt.u32 %p0, %r9, 3; @%p0 bra ON;"
        "mov.u32 %r10, 5; add.u32 %r5, %r5, %r10; st.global.u32 [%rd5], %r5;")
module = driver.load(text_of({"endure": "setp.ne.u32 %p0, %r1, 1;" + ROWS}))
def results():
    given, out = np.arange(4096, dtype=np.uint32) * 7919, np.zeros(4096, np.uint32)
    module.run("endure", 5, 90, [given, out, np.uint32(12345)])
    return out.tobytes().hex()
def launch_until(pattern):
    until = time.monotonic() + 500
    while not re.fullmatch(pattern, execution(module, "endure"), re.S):
        results()
        assert time.monotonic() < until, execution(module, "endure")
"""
AUTO = """
launch_until("compiled, quick tier")
print(results())
open(os.environ["CUPOLA_CACHE_DIR"] + "/../go", "w").close()
launch_until(WANTED)
print(execution(module, "endure"))
print(results())
"""


def compiler(folder, then):
    """A compiler that compiles the full tier when the file `go` is there."""
    return script(
        folder / "c++",
        f"""
        case "$*" in
            --version | *c++-header*) ;;
            *" -O3 "*) while ! test -e {folder}/go; do sleep 0.02; done; {then} ;;
        esac
        exec {real_compiler()} "$@"
        """,
    )


def test_launches_take_the_quick_tier_and_then_the_full_one(tmp_path):
    cache = tmp_path / "cache"
    (expected,) = run(LARGE + "print(results())", "interpret", cache)
    named = {"CXX": compiler(tmp_path, "true")}
    program = LARGE + AUTO.replace("WANTED", '"compiled"')
    assert run(program, "auto", cache, **named) == [expected, "compiled", expected]
    assert [file.suffix for file in files_in(cache)] == [".so", ".so"]
    # The next process takes the full tier from the cache.
    again = run(LARGE + 'print(execution(module, "endure"), results())', "auto", cache, **named)
    assert again == [f"compiled {expected}"]


def test_the_quick_tier_stays_where_the_full_one_fails(tmp_path):
    cache = tmp_path / "cache"
    (expected,) = run(LARGE + "print(results())", "interpret", cache)
    named = {"CXX": compiler(tmp_path, "echo no room >&2; exit 1")}
    program = LARGE + AUTO.replace("WANTED", '"compiled, quick tier: .*"')
    first, how, *_, last = run(program, "auto", cache, **named)
    assert first == last == expected
    assert how.startswith("compiled, quick tier: ") and "no room" in how


def test_the_first_code_of_a_kernel_does_not_wait_for_a_full_tier(tmp_path):
    program = (
        LARGE
        + """
launch_until("compiled, quick tier")
module = driver.load(text_of({"endure": "setp.ne.u32 %p0, %r1, 2;" + ROWS}))
launch_until("compiled, quick tier")
open(os.environ["CUPOLA_CACHE_DIR"] + "/../go", "w").close()
launch_until("compiled")
print("both tiers")
"""
    )
    named = {"CXX": compiler(tmp_path, "true"), "CUPOLA_CPU_THREADS": "2"}
    assert run(program, "auto", tmp_path / "cache", **named) == ["both tiers"]


RANDOM = """
from ptx.generate import batch
text, programs = batch.of_seeds(range(FIRST, FIRST + PROGRAMS))
module = driver.load(text, level=0)
def digests():
    return batch.digests(batch.run_loaded(driver, module, programs)).tolist()
"""
# A small program has no quick tier: it stays interpreted, and the compiler's error is the reason.
RANDOM_AUTO = """
until = time.monotonic() + 500
while "interpreted" in (how := [execution(module, x.name) for x in programs]):
    digests()
    assert time.monotonic() < until, how
assert any(one.startswith("compiled, quick tier") for one in how), how
print(digests())
"""
PROGRAMS = 6


@pytest.mark.campaign("machine code of random programs")
def test_random_programs_leave_the_same_bits_in_the_quick_tier(tmp_path):
    """Each change compiles other programs."""
    first = 2_000_000 + PROGRAMS * (rotation.number() % 2**29)  # below 2**32
    program = RANDOM.replace("FIRST", str(first)).replace("PROGRAMS", str(PROGRAMS))
    (expected,) = run(program + "print(digests())", "interpret", tmp_path / "cache")
    (tmp_path / "go").touch()
    named = {"CXX": compiler(tmp_path, "exit 1")}
    program += RANDOM_AUTO
    assert run(program, "auto", tmp_path / "cache", **named) == [expected]
