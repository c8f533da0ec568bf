import numpy as np

# counted from here
import cupola

# counted up to here


def smoothed(x):
    result = x.copy()
    around = (x[:-2, 1:-1] + x[2:, 1:-1]) + (x[1:-1, :-2] + x[1:-1, 2:])
    result[1:-1, 1:-1] = np.float32(0.25) * around
    return result


SIZES = [(256, 256), (1024, 1024), (4096, 4096), (64, 16384), (16384, 64)]


# counted from here
def smooth():
    for shape in SIZES:
        x = np.random.default_rng(1).random(shape, np.float32)
        yield cupola.Case((np.zeros_like(x), x, *shape), {"result": smoothed(x)}, rtol=0)
