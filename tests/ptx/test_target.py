"""Texts for devices before sm_20: map_f64_to_f32, mad without rounding, no subnormal numbers."""

import driver_abi
import numpy as np
import pytest

TEXT = """.version 1.4
.target %s, map_f64_to_f32
.entry twice(.param .u64 p) {
    .reg .f32 %%f<2>; .reg .f64 %%d<2>; .reg .u64 %%r;
    ld.param.u64 %%r, [p];
    ld.global.f32 %%f0, [%%r];
    add.f32 %%f0, %%f0, %%f0;
    %s
    st.global.f32 [%%r], %%f0;
    exit;
}
"""


def test_a_text_without_doubles_loads(load):
    load(TEXT % ("sm_10", ""))


@pytest.mark.parametrize(
    "target, statement, said",
    [
        ("sm_10", "cvt.f64.f32 %d0, %f0;", "instructions of .f64 are not supported"),
        ("sm_13", "", "map_f64_to_f32 is for targets below sm_13"),
    ],
)
def test_what_has_no_defined_result_is_refused(load, driver, target, statement, said):
    if driver.on_hardware:
        pytest.skip("NVIDIA's driver computes with floats, in a way that no manual describes")
    with pytest.raises(driver_abi.DriverError) as error:
        load(TEXT % (target, statement))
    assert said in error.value.log


MAD = """.version %s
.target %s
.entry multiply(.param .u64 p) {
    .reg .f32 %%f<4>; .reg .u64 %%r;
    ld.param.u64 %%r, [p];
    ld.global.f32 %%f0, [%%r];
    ld.global.f32 %%f1, [%%r+4];
    ld.global.f32 %%f2, [%%r+8];
    mad%s.f32 %%f3, %%f0, %%f1, %%f2;
    st.global.f32 [%%r], %%f3;
    exit;
}
"""
TINY = np.float32(1e-40)  # subnormal


@pytest.mark.parametrize(
    "version, target, modifier, values, result",
    [
        ("1.4", "sm_10", "", (1 + 2**-12, 1 + 2**-12, -1), 2**-11 + 2**-24),
        ("3.1", "sm_20", "", (1 + 2**-12, 1 + 2**-12, -1), 2**-11 + 2**-24),
        ("6.0", "sm_13", ".sat", (2, 2, 0), 1),
        ("1.4", "sm_10", "", (1, 0, TINY), 0),
        ("6.0", "sm_13", "", (1, TINY, 0), 0),
        ("3.1", "sm_20", "", (1, 0, TINY), TINY),
        ("3.1", "sm_20", ".ftz", (1, 0, TINY), 0),
    ],
)
def test_mad_without_rounding_is_fused(load, version, target, modifier, values, result):
    """ptxas makes the machine code of fma.rn of it, and of fma.rn.ftz below sm_20."""
    out = np.array(values, np.float32)
    load(MAD % (version, target, modifier)).run("multiply", 1, 1, [out])
    assert out[0] == np.float32(result)


@pytest.mark.parametrize("version, target", [("3.2", "sm_20"), ("6.0", "sm_30")])
def test_mad_without_rounding_is_refused_since_3_2(load, driver, version, target):
    if driver.on_hardware:
        pytest.skip("the message is cupola's")
    with pytest.raises(driver_abi.DriverError) as error:
        load(MAD % (version, target, ""))
    assert "mad" in error.value.log
