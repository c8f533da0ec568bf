"""Complex functions at zeros, infinities and NaN: NumPy's values, those of annex G of C."""

import warnings

import numpy as np
import pytest

import cupola

inf, nan = np.inf, np.nan
PARTS = (0.0, -0.0, 1.0, -1.0, 2.5, -2.5, inf, -inf, nan)
POINTS = np.array([complex(a, b) for a in PARTS for b in PARTS])
FUNCTIONS = """exp exp2 sqrt log log2 log10 log1p sin cos tan sinh cosh tanh arcsin arccos arctan
arcsinh arccosh arctanh"""
# Functions and points for which the standard leaves the sign of an infinity or a zero open.
OPEN_SIGNS = {
    "exp": lambda a, b: np.isinf(a) & ~np.isfinite(b),
    "exp2": lambda a, b: np.isinf(a) & ~np.isfinite(b),
    "sinh": lambda a, b: ~np.isfinite(b),
    "cosh": lambda a, b: ~np.isfinite(b) | np.isnan(a),
    "tanh": lambda a, b: ~np.isfinite(b),
    "sin": lambda a, b: ~np.isfinite(a),
    "cos": lambda a, b: ~np.isfinite(a) | np.isnan(b),
    "tan": lambda a, b: ~np.isfinite(a),
    "sqrt": lambda a, b: np.isinf(a) & np.isnan(b),
    "arcsin": lambda a, b: np.isnan(b),
    "arccos": lambda a, b: np.isnan(b),
    "arctan": lambda a, b: np.isnan(a) | np.isnan(b),
    "arcsinh": lambda a, b: np.isnan(a),
    "arccosh": lambda a, b: np.isnan(b),
    "arctanh": lambda a, b: np.isnan(a),
}


def check(name, found, expected, open_signs):
    for part in ("real", "imag"):
        x, y = getattr(expected, part), getattr(found, part)
        where = [
            f"{name}({z}): {e}, got {f}" for z, e, f in zip(POINTS, expected, found, strict=True)
        ]
        for at, text in enumerate(where):
            assert np.isnan(x[at]) == np.isnan(y[at]), text
            if np.isinf(x[at]) or x[at] == 0:
                assert abs(x[at]) == abs(y[at]), text
                assert open_signs[at] or np.signbit(x[at]) == np.signbit(y[at]), text
            elif not np.isnan(x[at]):
                size = abs(expected[at]) if np.isfinite(expected[at]) else abs(x[at])
                assert abs(x[at] - y[at]) <= 16 * np.finfo(y.dtype).eps * size, text


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("name", FUNCTIONS.split())
def test_numpys_values(driver, name, dtype):
    points = POINTS.astype(dtype)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = getattr(np, name)(points)
    found = getattr(np, name)(cupola.to_device(points)).get()
    signs = OPEN_SIGNS.get(name, lambda a, b: np.zeros(a.shape, bool))
    check(name, found, expected, signs(points.real, points.imag))


# NumPy's expm1 has NaN at most of these points, and -0 at -0. The values are the array API's.
EXPM1 = {
    (0, 0): (0, 0), (1, inf): (nan, nan), (1, nan): (nan, nan),
    (inf, 0): (inf, 0), (-inf, 1): (-1, 0), (-inf, -1): (-1, -0.0), (inf, 1): (inf, inf),
    (inf, 2.5): (-inf, inf), (-inf, inf): (-1, 0), (inf, inf): (inf, nan), (-inf, nan): (-1, 0),
    (inf, nan): (inf, nan), (nan, 0): (nan, 0), (nan, 1): (nan, nan), (nan, nan): (nan, nan),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_expm1(driver, dtype):
    zero = np.expm1(cupola.to_device(np.array([complex(-0.0, 0.0)], dtype))).get()[0]
    assert zero == 0 and not np.signbit(zero.real)
    for point, (real, imag) in EXPM1.items():
        found = np.expm1(cupola.to_device(np.array([complex(*point)], dtype))).get()[0]
        np.testing.assert_array_equal([found.real, found.imag], [real, imag], err_msg=str(point))
        for value, expected in ((found.real, real), (found.imag, imag)):
            assert np.isnan(expected) or np.signbit(value) == np.signbit(expected), point
        mirrored = np.expm1(cupola.to_device(np.array([complex(*point)], dtype).conj())).get()[0]
        np.testing.assert_array_equal(
            [mirrored.real, mirrored.imag], [real, -imag], err_msg=f"conjugate of {point}"
        )
