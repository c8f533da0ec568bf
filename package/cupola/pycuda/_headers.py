# cupola/pycuda/_headers.py - headers of the host that nvcc finds, and NVRTC has built in or not.
"""Headers in memory, so that sources with nvcc's usual includes compile with NVRTC."""

from __future__ import annotations

_STDINT = "\n".join(
    [
        "#pragma once",
        *(
            f"typedef {kind} int{bits}_t; typedef unsigned {kind} uint{bits}_t;"
            for bits, kind in ((16, "short"), (32, "int"), (64, "long"))
        ),
        "typedef signed char int8_t; typedef unsigned char uint8_t;",
        "typedef long intptr_t; typedef unsigned long uintptr_t;",
        "typedef long intmax_t; typedef unsigned long uintmax_t;",
        "#define INT8_MAX 127\n#define INT16_MAX 32767\n#define INT32_MAX 2147483647",
        "#define INT64_MAX 9223372036854775807L\n#define INT8_MIN (-128)",
        "#define INT16_MIN (-32768)\n#define INT32_MIN (-2147483647 - 1)",
        "#define INT64_MIN (-9223372036854775807L - 1)\n#define UINT8_MAX 255",
        "#define UINT16_MAX 65535\n#define UINT32_MAX 4294967295u",
        "#define UINT64_MAX 18446744073709551615ul",
    ]
)
_LIMITS = """#pragma once
#define CHAR_BIT 8
#define SCHAR_MAX 127
#define SCHAR_MIN (-128)
#define UCHAR_MAX 255
#define SHRT_MAX 32767
#define SHRT_MIN (-32768)
#define USHRT_MAX 65535
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define UINT_MAX 4294967295u
#define LONG_MAX 9223372036854775807L
#define LONG_MIN (-9223372036854775807L - 1)
#define ULONG_MAX 18446744073709551615ul
#define LLONG_MAX 9223372036854775807LL
#define LLONG_MIN (-9223372036854775807LL - 1)
#define ULLONG_MAX 18446744073709551615ull
"""
_FLOAT = """#pragma once
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define FLT_DIG 6
#define FLT_MANT_DIG 24
#define DBL_MAX 1.7976931348623158e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
#define DBL_DIG 15
#define DBL_MANT_DIG 53
"""
_MATH = """#pragma once
#ifndef M_PI
#define M_E 2.71828182845904523536
#define M_LOG2E 1.44269504088896340736
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#endif
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif
"""
_EMPTY = "#pragma once\n"

# printf, assert, memcpy and the functions of math.h are built into NVRTC.
HEADERS = {
    **dict.fromkeys(
        ("stdio.h", "cstdio", "stdlib.h", "cstdlib", "string.h", "cstring", "assert.h", "cassert",
         "stddef.h", "cstddef", "time.h", "ctime", "stdbool.h"),
        _EMPTY,
    ),
    **dict.fromkeys(("stdint.h", "cstdint", "inttypes.h"), _STDINT),
    **dict.fromkeys(("limits.h", "climits"), _LIMITS),
    **dict.fromkeys(("float.h", "cfloat"), _FLOAT),
    **dict.fromkeys(("math.h", "cmath"), _MATH),
}  # fmt: skip
# nvcc includes cuda_runtime.h before the first line, and with it these.
IMPLICIT = "#include <math.h>\n#include <limits.h>\n#include <stdint.h>\n"
