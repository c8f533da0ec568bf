import numpy as np

# counted from here
import cupola

# counted up to here
from smooth.reference import SIZES, smoothed


# counted from here
def smooth():
    for shape in SIZES:
        x = np.random.default_rng(1).random(shape, np.float32)
        yield cupola.Case((np.zeros_like(x), x, *shape), {"result": smoothed(x)}, rtol=0)
