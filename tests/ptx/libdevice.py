# ruff: noqa: E501 - tables are wide
"""The mathematical functions of CUDA C++, with the errors that its documentation bounds.

They come from libdevice, a library in NVVM's code which nvcc links into what it compiles.
"""

import ctypes
import pathlib
import subprocess

import images
import numpy as np

# name, arguments, units in the last place for float and for double, and the domain, by name.
FUNCTIONS = [
    ("sqrt", 1, 0, 0, "positive"), ("rsqrt", 1, 2, 1, "positive"), ("cbrt", 1, 1, 1, "any"),
    ("rcbrt", 1, 1, 1, "any"), ("exp", 1, 2, 1, "small"), ("exp2", 1, 2, 1, "small"),
    ("exp10", 1, 2, 1, "small"), ("expm1", 1, 1, 1, "small"), ("log", 1, 1, 1, "positive"),
    ("log2", 1, 1, 1, "positive"), ("log10", 1, 2, 1, "positive"), ("log1p", 1, 1, 1, "positive"),
    ("sin", 1, 2, 2, "any"), ("cos", 1, 2, 2, "any"), ("tan", 1, 4, 2, "any"),
    ("sinpi", 1, 1, 2, "small"), ("cospi", 1, 1, 2, "small"), ("asin", 1, 2, 2, "unit"),
    ("acos", 1, 2, 2, "unit"), ("atan", 1, 2, 2, "any"), ("sinh", 1, 3, 2, "small"),
    ("cosh", 1, 2, 1, "small"), ("tanh", 1, 2, 1, "small"), ("asinh", 1, 3, 3, "any"),
    ("acosh", 1, 4, 3, "above"), ("atanh", 1, 3, 2, "unit"), ("erf", 1, 2, 2, "small"),
    ("erfc", 1, 4, 5, "small"), ("erfinv", 1, 2, 5, "unit"), ("erfcinv", 1, 4, 6, "two"),
    ("erfcx", 1, 4, 4, "error"), ("normcdf", 1, 5, 5, "small"), ("normcdfinv", 1, 5, 8, "half"),
    ("tgamma", 1, 5, 10, "gamma"), ("lgamma", 1, 6, 4, "positive"), ("j0", 1, 9, 7, "bessel"),
    ("j1", 1, 9, 7, "bessel"), ("y0", 1, 9, 7, "bessel+"), ("y1", 1, 9, 7, "bessel+"),
    ("cyl_bessel_i0", 1, 6, 6, "bessel"), ("cyl_bessel_i1", 1, 6, 6, "bessel"),
    ("ceil", 1, 0, 0, "any"), ("floor", 1, 0, 0, "any"), ("trunc", 1, 0, 0, "any"),
    ("rint", 1, 0, 0, "any"), ("nearbyint", 1, 0, 0, "any"), ("round", 1, 0, 0, "any"),
    ("fabs", 1, 0, 0, "any"), ("hypot", 2, 3, 2, "any"), ("rhypot", 2, 2, 1, "any"),
    ("norm3d", 2, 3, 2, "any"), ("rnorm3d", 2, 2, 1, "any"), ("norm4d", 2, 3, 2, "any"),
    ("rnorm4d", 2, 2, 1, "any"), ("pow", 2, 4, 2, "power"), ("atan2", 2, 3, 2, "any"),
    ("fmod", 2, 0, 0, "near"), ("remainder", 2, 0, 0, "near"), ("fdim", 2, 0, 0, "any"),
    ("fmax", 2, 0, 0, "any"), ("fmin", 2, 0, 0, "any"), ("copysign", 2, 0, 0, "any"),
    ("frexp_m", 1, 0, 0, "plain"), ("frexp_e", 1, 0, 0, "plain"), ("modf_f", 1, 0, 0, "near"),
    ("modf_i", 1, 0, 0, "near"), ("logb", 1, 0, 0, "plain"), ("ilogb", 1, 0, 0, "plain"),
    ("ldexp", 2, 0, 0, "plain"), ("scalbn", 2, 0, 0, "plain"), ("nextafter", 2, 0, 0, "near"),
    ("sincos_s", 1, 2, 2, "any"), ("sincos_c", 1, 2, 2, "any"), ("sincospi_s", 1, 1, 2, "small"),
    ("llrint", 1, 0, 0, "plain"), ("llround", 1, 0, 0, "plain"), ("remquo_r", 2, 0, 0, "near"),
    ("jn", 2, None, None, "order"), ("yn", 2, None, None, "order"),
]  # fmt: skip

CALLS = {
    "norm3d": "norm3d{f}(a, b, a / 2)", "rnorm3d": "rnorm3d{f}(a, b, a / 2)",
    "norm4d": "norm4d{f}(a, b, a / 2, b / 2)", "rnorm4d": "rnorm4d{f}(a, b, a / 2, b / 2)",
    "frexp_m": "[&] { int e; return frexp{f}(a, &e); }()",
    "frexp_e": "[&] { int e; frexp{f}(a, &e); return T(e); }()",
    "modf_f": "[&] { T whole; return modf{f}(a, &whole); }()",
    "modf_i": "[&] { T whole; modf{f}(a, &whole); return whole; }()", "ilogb": "T(ilogb{f}(a))",
    "ldexp": "ldexp{f}(a, int(b))", "scalbn": "scalbn{f}(a, int(b))", "llrint": "T(llrint{f}(a))",
    "llround": "T(llround{f}(a))", "sincos_s": "[&] { T s, c; sincos{f}(a, &s, &c); return s; }()",
    "sincos_c": "[&] { T s, c; sincos{f}(a, &s, &c); return c; }()",
    "sincospi_s": "[&] { T s, c; sincospi{f}(a, &s, &c); return s; }()",
    "remquo_r": "[&] { int q; return remquo{f}(a, b, &q); }()",
    "jn": "jn{f}(int(a), b)", "yn": "yn{f}(int(a), b)",
}  # fmt: skip


# Functions for which NumPy computes the reference in the same type. Some of them are one result of
# a function with two results.
DIRECT = {
    "sqrt": np.sqrt, "nextafter": np.nextafter, "frexp_m": lambda x: np.frexp(x)[0],
    "frexp_e": lambda x: np.frexp(x)[1], "modf_f": lambda x: np.modf(x)[0],
    "modf_i": lambda x: np.modf(x)[1], "logb": lambda x: np.frexp(x)[1] - 1,
    "ilogb": lambda x: np.frexp(x)[1] - 1, "llrint": np.rint,
    "ldexp": lambda x, y: np.ldexp(x, y.astype(int)),
    "scalbn": lambda x, y: np.ldexp(x, y.astype(int)),
}  # fmt: skip
SAME = {"sincos_s": "sin", "sincos_c": "cos", "sincospi_s": "sinpi", "llround": "round",
        "remquo_r": "remainder"}  # fmt: skip


def call(name, arity, suffix):
    plain = name + "{f}(" + ", ".join("ab"[:arity]) + ")"
    kind = "float" if suffix else "double"
    return CALLS.get(name, plain).replace("{f}", suffix).replace("T", kind)


def source():
    lines = [
        "#define INDEX const int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= count) return;"
    ]
    for name, arity, *_ in FUNCTIONS:
        for kind, suffix in (("float", "f"), ("double", "")):
            taken = "const T* x, " + ("const T* y, " if arity == 2 else "")
            body = "const T a = x[i];" + (" const T b = y[i];" if arity == 2 else "")
            lines.append(
                f'extern "C" __global__ void {kind}_{name}({taken}T* out, int count) '
                f"{{ INDEX {body} out[i] = {call(name, arity, suffix)}; }}".replace(
                    "T*", kind + "*"
                ).replace("const T ", f"const {kind} ")
            )
    return "\n".join(lines) + "\n"


def module_text():
    """The PTX that nvcc makes of them."""
    path = images.folder() / "libdevice.cu"
    if not path.exists():
        path.write_text(source())
    return images.compiled("libdevice.90.ptx", path, "-ptx", "-arch=compute_90").read_text()


def exact():
    """The references, as a library of the host's."""
    target = images.folder() / "exact.so"
    if not target.exists():
        path = pathlib.Path(__file__).with_name("toolkit") / "exact.c"
        command = ["cc", "-O2", "-std=gnu11", "-shared", "-fPIC", path, "-o", target, "-lm"]
        subprocess.run(command, check=True)
    library = ctypes.CDLL(str(target))

    def run(name, *arrays):
        if name in DIRECT:
            with np.errstate(all="ignore"):
                return DIRECT[name](*arrays)
        name = SAME.get(name, name)
        arrays = [np.ascontiguousarray(a.astype(np.longdouble)) for a in arrays]
        out = np.empty_like(arrays[0])
        getattr(library, f"x_{name}")(
            *(ctypes.c_void_p(a.ctypes.data) for a in (*arrays, out)), ctypes.c_int(out.size)
        )
        return out

    return run


def values(domain, dtype, count, rng):
    """Special values and random ones of a function's domain."""
    f = np.finfo(dtype)
    special = np.array(
        [0.0, -0.0, 1, -1, 0.5, -0.5, 2, -2, f.tiny, -f.tiny, f.smallest_subnormal, f.max, -f.max, np.inf, -np.inf,
         np.nan, f.eps, 1 + f.eps, 1 - f.eps / 2, 10, 100, 1e4, 3.1415927, 1.5707964, 0.75, 8, 88, -88], dtype)  # fmt: skip
    wide = (
        rng.choice([-1.0, 1.0], count) * 2.0 ** rng.uniform(f.minexp + 2, f.maxexp - 1, count)
    ).astype(dtype)
    near = (rng.choice([-1.0, 1.0], count) * 2.0 ** rng.uniform(-12, 7, count)).astype(dtype)
    unit = rng.uniform(-1, 1, count).astype(dtype)
    tiny = (2.0 ** rng.uniform(f.minexp / 2, 0, count)).astype(dtype)
    both = np.concatenate([special, near, wide])
    return {
        "any": both,
        "small": np.concatenate(
            [special, near, unit * (100 if dtype == np.float32 else 700), unit]
        ),
        "positive": np.abs(both),
        "unit": np.concatenate([special[:11], unit, unit * tiny, np.array([np.nan, 1.5], dtype)]),
        "two": np.concatenate([special[:3], unit + 1, tiny, np.array([np.nan, 2, 3, -1], dtype)]),
        "half": np.concatenate(
            [special[:5], (unit + 1) / 2, tiny / 2, np.array([np.nan, 2], dtype)]
        ),
        "above": 1 + np.abs(both),
        "error": np.concatenate([special, np.abs(near), -np.abs(unit) * 8, np.abs(wide)]),
        "gamma": np.concatenate([special, unit * (30 if dtype == np.float32 else 150), unit]),
        "bessel": np.concatenate([unit * 8, unit, np.array([0, 1, 7.9], dtype)]),
        "bessel+": np.concatenate([np.abs(unit) * 7.9 + 1e-3, np.array([1, 7.9], dtype)]),
        "plain": near,
        "near": np.concatenate([special, near]),
        "power": np.concatenate([special, near]),
        "order": np.concatenate([np.abs(unit) * 20 + 0.5]),
    }[domain].astype(dtype)


def steps(a, b):
    """How many numbers of their type lie between two."""
    word = {4: np.int32, 8: np.int64}[a.itemsize]

    def place(x):
        bits = x.view(word).astype(object)
        return np.where(bits < 0, -(bits + (1 << (8 * x.itemsize - 1))), bits)

    return np.abs(place(a) - place(b))
