"""Compiles kernels.cu by NVRTC of CUDA 12, to kernels.VERSION.CAPABILITY.ptx beside it.

    python compile.py libnvrtc.so.12 INCLUDE CAPABILITY...

The library is that of a wheel nvidia-cuda-nvrtc-cu12, INCLUDE a folder with the headers of the
same version (nvidia-cuda-runtime-cu12). tests/ptx/test_nvrtc.py runs the kernels.
"""

import ctypes
import pathlib
import re
import sys
from ctypes import byref, c_char_p, c_int, c_size_t, c_void_p

SOURCE = pathlib.Path(__file__).with_name("kernels.cu")


class Compiler:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        major, minor = c_int(), c_int()
        self.call("Version", byref(major), byref(minor))
        self.version = f"{major.value}.{minor.value}"

    def call(self, name, *arguments):
        code = getattr(self.library, "nvrtc" + name)(*arguments)
        if code:
            raise RuntimeError(f"nvrtc{name}: {code}")

    def text(self, program, of):
        size = c_size_t()
        self.call(f"Get{of}Size", program, byref(size))
        text = ctypes.create_string_buffer(size.value)
        self.call(f"Get{of}", program, text)
        return text.value.decode()

    def ptx(self, source, options):
        program = c_void_p()
        self.call("CreateProgram", byref(program), source.encode(), b"kernels.cu", 0, None, None)
        given = [option.encode() for option in options]
        try:
            self.call("CompileProgram", program, len(given), (c_char_p * len(given))(*given))
        except RuntimeError:
            print(self.text(program, "ProgramLog"), file=sys.stderr)
            raise
        return self.text(program, "PTX")


if __name__ == "__main__":
    library, include, *capabilities = sys.argv[1:]
    compiler = Compiler(library)
    for capability in capabilities:
        options = [f"--gpu-architecture=compute_{capability}", f"--include-path={include}"]
        text = compiler.ptx(SOURCE.read_text(), options)
        text = re.sub(r"\s*\n\s*", "\n", re.sub(r"//.*", "", text)).strip()
        file = SOURCE.with_name(f"kernels.{compiler.version}.{capability}.ptx")
        file.write_text(f"// NVRTC {compiler.version}, kernels.cu\n{text}\n")
        print(file.name, file.stat().st_size)
