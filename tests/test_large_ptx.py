"""Large PTX texts: the CPU device reads a kernel when a program looks it up."""

import threading

import images
import numpy as np
import pytest
from working import assert_works, refused

import cupola

HEAD = ".version 7.5\n.target sm_75\n.address_size 64\n"
# The mangled name of void add_N(unsigned*).
KERNEL = """
.visible .entry {symbol}(.param .u64 out)
{{
    .reg .b32 %r<3>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [out];
    cvta.to.global.u64 %rd2, %rd1;
    atom.global.add.u32 %r1, [%rd2], {n};
    ret;
}}
"""
BROKEN = """
.visible .entry broken(.param .u64 out)
{
    frobnicate.u32 %r1;
    ret;
}
"""
COUNT = 400


def symbol(n):
    return f"_Z{len(f'add_{n}')}add_{n}Pj"


def text(*more):
    kernels = "".join(KERNEL.format(symbol=symbol(n), n=n) for n in range(COUNT))
    assert len(kernels) > 64 * 1024
    return HEAD + kernels + "".join(more)


def loaded(*more):
    return cupola.load(text(*more).encode())


def adds(module, name, n):
    out = cupola.zeros(1, np.uint32)
    module[name][1, 1](out)
    assert out.get()[0] == n


def test_each_way_to_name_a_kernel(driver):
    module = loaded()
    assert set(module.kernels) == {symbol(n) for n in range(COUNT)}
    adds(module, "add_7", 7)
    adds(module, symbol(8), 8)
    adds(module, "add_9(unsigned int*)", 9)
    with refused(cupola.UnknownNameError, saying="add_29"):
        module["add_2999"]


def test_names_are_those_of_definitions(driver):
    """Comments and declarations that mention entries add no names."""
    head = KERNEL.format(symbol=symbol(COUNT), n=COUNT).partition("{")[0].rstrip()
    module = loaded(
        "// .entry ghost(.param .u64 out)\n/* .visible .entry phantom() { ret; } */\n",
        head + ";\n" if driver == "cpu" else "",  # the manual does not have this form
        KERNEL.format(symbol=symbol(COUNT), n=COUNT),
    )
    assert sorted(module.kernels) == sorted(symbol(n) for n in range(COUNT + 1))
    adds(module, f"add_{COUNT}", COUNT)
    for name in ("ghost", "phantom"):
        with refused(cupola.UnknownNameError):
            module[name]


@pytest.mark.cpu_only("NVIDIA's compiler reads all PTX at once")
def test_what_is_wrong_with_a_kernel_is_said_when_it_is_asked_for(driver, monkeypatch):
    monkeypatch.delenv("CUDA_MODULE_LOADING", raising=False)
    line = text(BROKEN).splitlines().index("    frobnicate.u32 %r1;") + 1
    saying = ("CUDA_ERROR_INVALID_PTX", f"line {line}:", "frobnicate.u32 %r1;")
    module = loaded(BROKEN)
    for _ in range(2):
        with refused(cupola.ImageError, saying=saying) as caught:
            module["broken"]
        assert f"line {line}:" in caught.value.log and "frobnicate.u32 %r1;" in caught.value.log
    monkeypatch.setenv("CUDA_MODULE_LOADING", "EAGER")
    with refused(cupola.ImageError, saying=saying) as at_load:
        loaded(BROKEN)
    assert at_load.value.log == caught.value.log


@pytest.mark.cpu_only("NVIDIA's compiler reads all PTX at once")
def test_a_wrong_kernel_is_in_no_other_s_way(driver, monkeypatch):
    monkeypatch.delenv("CUDA_MODULE_LOADING", raising=False)
    module = loaded(BROKEN)
    adds(module, "add_3", 3)
    assert set(module.kernels) == {"broken", *(symbol(n) for n in range(COUNT))}
    with refused(cupola.UnknownNameError, saying="broken"):
        module["brokem"]
    with refused(cupola.UnknownNameError):
        module["add_9999"]


@pytest.mark.cpu_only("NVIDIA's compiler reads all PTX at once")
def test_threads_are_told_of_their_own_kernels(driver, monkeypatch):
    monkeypatch.delenv("CUDA_MODULE_LOADING", raising=False)
    names = [f"broken_{n}" for n in range(4)]
    module = loaded(*(BROKEN.replace("broken", f"broken_{n}")
                      .replace("frobnicate", f"frobnicate_{n}") for n in range(4)))  # fmt: skip
    wrong = []

    def ask(n):
        for _ in range(50):
            try:
                module[names[n]]
                wrong.append(n)
            except cupola.ImageError as error:
                if f"frobnicate_{n}" not in error.log:
                    wrong.append(error.log)

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert_works()


def test_of_several_architectures_the_one_that_runs(driver):
    """Where each has kernels of other names, as many as the others."""
    source = images.folder() / "by_architecture.cu"
    source.write_text("""
#if __CUDA_ARCH__ >= 800
extern "C" __global__ void newer(int* out) { *out = 80; }
#else
extern "C" __global__ void older(int* out, float more) { *out = 75; }
#endif
""")
    codes = [f"-gencode=arch=compute_{n},code=compute_{n}" for n in (75, 80)]
    image = images.compiled("by_architecture.fatbin", source, "-fatbin", "-no-compress", *codes)
    major, _ = cupola.Device().compute_capability
    name = "newer" if major >= 8 else "older"
    module = cupola.load(image)
    assert list(module.kernels) == [name]
    assert len(module[name].params) == (1 if name == "newer" else 2)
