"""Runs a kernel body on one texture or surface, and records what is read from arrays."""

import ctypes

import numpy as np
import pytest
from cpu.texture import SURFACE, Textures

from .texture import *


class Read(Textures):
    """Records each read of an array, as a copy to the host is recorded."""

    def read(self, *arguments):
        out = super().read(*arguments)
        self.driver.seen.reads(out.tobytes())
        return out


@pytest.fixture
def make(driver):
    made = Read(driver)
    yield made
    made.close()


# ---- one thread, one surface or texture ------------------------------------------------------


def one(load, make, handle, body, count=1, second=None):
    """Runs a body in `count` threads (%r0 is the index); returns %q0 to %q3 of each."""
    module = load(
        f"""
.visible .entry k(.param .u64 ps, .param .u64 pout, .param .u64 pu) {{
.reg .b64 %s, %u, %out, %x, %d<4>; .reg .b32 %r<16>, %q<4>; .reg .b16 %h<4>; .reg .pred %p<4>;
ld.param.u64 %s, [ps]; ld.param.u64 %out, [pout]; ld.param.u64 %u, [pu]; mov.u32 %r0, %tid.x;
mov.u32 %q0, 0; mov.u32 %q1, 0; mov.u32 %q2, 0; mov.u32 %q3, 0;
mul.wide.u32 %x, %r0, 16; add.u64 %out, %out, %x;
{body}
st.global.v4.b32 [%out], {{%q0, %q1, %q2, %q3}}; ret; }}
"""
    )
    out = np.zeros((count, 4), np.uint32)
    module.run("k", 1, count, [handle, out, second or ctypes.c_uint64(0)])
    return out


def surface_of(make, texels, dims=None, flags=0):
    array = make.array(texels, SURFACE | flags, dims)
    return make.surface(array), array
