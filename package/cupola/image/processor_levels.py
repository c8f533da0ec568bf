# cupola/image/processor_levels.py - levels of the instruction set, for machine code of kernels.
"""Levels of the host's instruction set.

cupola.build uses this module, also before cupola can be imported.
"""

AVX2 = {"avx2", "fma", "bmi1", "bmi2", "abm", "f16c", "movbe"}
AVX512 = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
# The features that identify each level, by the -march name of the level; as in
# csrc/cpu/interpreter/processor.hpp.
X86_LEVELS = {"x86-64-v2": set(), "x86-64-v3": AVX2, "x86-64-v4": AVX2 | AVX512}

X86 = ("x86_64", "amd64")
# The level in the file name of kernels' machine code, NAME.LEVEL.so.
LEVELS = (*X86_LEVELS, "aarch64", "generic")
