# counted from here
from pathlib import Path

import numpy as np
from kernel_tuner.kernelbuilder import PythonKernel

KERNEL = "smooth"
SOURCE = (Path(__file__).parent / "smooth.cu").read_text()
RESULTS = str(Path(__file__).parent / "results.json")
BLOCK = ["TX", "TY", "TZ"]
DIVISORS = {"grid_div_x": ["TX"], "grid_div_y": ["TY", "ROWS"]}
_kernels = {}


def arguments_of(result, x):
    return [result, x, np.int32(x.shape[0]), np.int32(x.shape[1])]


def smooth(result, x):
    arguments = arguments_of(result, x)
    kernel = _kernels.get(x.shape)
    if kernel is None:
        kernel = _kernels[x.shape] = PythonKernel(
            KERNEL,
            SOURCE,
            x.shape[::-1],
            arguments,
            outputs=[True, False, False, False],
            block_size_names=BLOCK,
            lang="CUPY",
            results_file=RESULTS,
            **DIVISORS,
        )
    return kernel(*arguments)[0]
