"""tests/keys.py - keys with arrays of indices and masks, for NumPy's arrays and for a device's."""

import numpy as np
from hypothesis import strategies as st

import cupola

PAIR = np.dtype([("a", "u1"), ("b", "f4"), ("c", "V7")])  # 12 bytes
TYPES = ["?", "i1", "u2", "f4", "c8", "c16", "S3", PAIR]
INDEX_TYPES = ["i8", "i4", "i1", "u1", "u4"]


def elements(shape, dtype, seed=0):
    """Random bytes; bools are 0 or 1."""
    dtype = np.dtype(dtype)
    random = np.random.default_rng(seed)
    if dtype.kind == "b":
        return random.random(shape) < 0.5
    if dtype.kind in "fc":
        return random.integers(-9, 10, shape).astype(dtype)
    made = random.integers(1, 120, (*shape, dtype.itemsize)).astype("u1")
    return made.reshape(-1).view(dtype).reshape(shape) if made.size else np.zeros(shape, dtype)


@st.composite
def arrays(draw, dtypes=TYPES, axes=4, most=5):
    """A NumPy array and the same view of a device's memory."""
    shape = tuple(draw(st.lists(st.integers(0, most), min_size=1, max_size=axes)))
    host = elements(tuple(2 * length for length in shape), draw(st.sampled_from(dtypes)))
    there = cupola.to_device(host)
    view = []
    for length in shape:
        step = draw(st.sampled_from([1, 2, -1]))
        start = draw(st.integers(0, length if step == 1 else 0)) if step != -1 else 2 * length - 1
        view.append(slice(start, None, step))
    cut = tuple(slice(0, length) for length in shape)
    order = draw(st.permutations(range(len(shape))))
    if draw(st.booleans()):
        host, there = host.copy(), there.copy()
        return host[cut], there[cut]
    return (
        host[tuple(view)][cut].transpose(order),
        there[tuple(view)][cut].transpose(order),
    )


def _index(draw, length, shape):
    dtype = draw(st.sampled_from(INDEX_TYPES))
    low = -length if dtype[0] == "i" else 0
    numbers = draw(
        st.lists(
            st.integers(low, length - 1),
            min_size=int(np.prod(shape)),
            max_size=int(np.prod(shape)),
        )
    )
    return np.array(numbers, dtype).reshape(shape)


def _placed(draw, array):
    """The array as it is, as a list, or on the device."""
    how = draw(st.sampled_from(["host", "device", "device", "list"]))
    if how == "device":
        return cupola.to_device(array)
    return array.tolist() if how == "list" and array.ndim and array.size else array


@st.composite
def keys(draw, shape):
    """A key for NumPy and the same one for cupola, of parts of all kinds."""
    joint = tuple(draw(st.lists(st.integers(0, 3), max_size=2)))
    before = draw(st.integers(0, len(shape)))
    skipped = draw(st.integers(0, len(shape) - before))
    masks = len(joint) < 2  # the counts of several masks would have to broadcast
    pairs = []
    for axes in (shape[:before], ..., shape[before + skipped :]):
        if axes is ...:
            pairs.append((..., ...))
            continue
        while axes:
            if draw(st.integers(0, 5)) == 0:
                pairs.append((None, None))
            count = draw(st.integers(1, len(axes)))
            mask = _mask(draw, axes[:count], joint) if masks and draw(st.booleans()) else None
            if mask is None:
                pairs.append(_part(draw, axes[0], joint))
                axes = axes[1:]
            else:
                pairs.append((mask, _placed(draw, mask)))
                axes, masks = axes[count:], False
    if skipped == 0 and draw(st.booleans()):
        pairs = [one for one in pairs if one[0] is not ...]
    return tuple([one[0] for one in pairs]), tuple([one[1] for one in pairs])


def _mask(draw, shape, joint):
    """A mask with as many true elements as broadcast with the other arrays; None for too few."""
    count = joint[0] if joint else draw(st.integers(0, 3))
    mask = np.zeros(shape, bool)
    if mask.size < count:
        return None
    mask.reshape(-1)[draw(st.permutations(range(mask.size)))[:count]] = True
    return mask


def _part(draw, length, joint):
    kind = draw(st.sampled_from(["slice", "array", "array", "int"]))
    if kind == "array" and length:
        own = tuple(1 if draw(st.integers(0, 3)) == 0 else n for n in joint)
        array = _index(draw, length, own[draw(st.integers(0, len(own))) :])
        return array, _placed(draw, array)
    if kind == "int" and length:
        number = draw(st.integers(-length, length - 1))
        return number, number
    ends = st.one_of(st.none(), st.integers(-5, 5))
    cut = slice(draw(ends), draw(ends), draw(st.sampled_from([None, 1, 2, -1])))
    return cut, cut
