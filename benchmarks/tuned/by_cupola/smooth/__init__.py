# counted from here
import cupola
from smooth import families


def smooth(x):
    result = cupola.empty_like(x)
    families.smooth(result, x, *x.shape)
    return result
