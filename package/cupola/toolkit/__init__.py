# cupola/toolkit/__init__.py - the parts of a CUDA toolkit that cupola calls at run time.
"""NVRTC, nvJitLink and ptxas: found at their first use, and called.

Programs that only load compiled kernels need none of them.
"""
