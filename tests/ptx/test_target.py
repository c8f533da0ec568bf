"""`.target` with map_f64_to_f32, as compilers wrote it for devices without double precision."""

import driver_abi
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
