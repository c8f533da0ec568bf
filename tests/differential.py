"""Random programs over arrays, with NumPy as the reference.

``python differential.py --programs N --seed S`` (in tests) runs programs S to S + N - 1. Each is a
few operations on arrays of random types, byte orders, alignments and layouts; half of the programs
run in a capture. A seed makes the same program on each machine.

``--record FILE`` keeps digests of all results, and ``--compare FILE`` compares them with those of
another machine: the bits of the CPU device do not depend on the processor.
"""

import argparse
import hashlib
import json
import random
import warnings
from itertools import zip_longest
from pathlib import Path

import numpy as np

import cupola

TYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
INTEGERS = [one for one in TYPES if one[0] in "iu"]
REALS = [one for one in TYPES if one[0] != "c"]
LENGTHS = [0, 1, 1, 2, 3, 5, 8, 33]
MOST = 200  # results with larger numbers are compared, and not used again
NEAR = {"f2": 2e-2, "f4": 1e-4, "f8": 1e-10, "c8": 1e-4, "c16": 1e-10}


class Mismatch(AssertionError):
    """A program whose result is not NumPy's, or which was refused without a reason."""


class Operand:
    """An array of the host, and the same elements on a device."""

    def __init__(self, host, there, form, *, swapped=False, written=True):
        self.host, self.there, self.form = host, there, form
        self.swapped, self.written = swapped, written

    def __repr__(self):
        return f"{self.host.dtype.str}{list(self.host.shape)} {self.form}"


def elements(choose, dtype, shape):
    """Small numbers, so that sums and products of several are exact."""
    count = int(np.prod(shape, dtype=int))
    low = 0 if dtype.kind in ("b", "u") else -4
    host = np.array([choose.randint(low, 4) for _ in range(count)], float)
    if dtype.kind in "fc":
        host /= 2
    if dtype.kind == "c":
        host = host + 1j * np.array([choose.randint(-2, 2) for _ in range(count)])
    return host.astype(dtype).reshape(shape)


def at(choose, host):
    """The bytes of a host array on the device, at a random address."""
    offset = choose.choice([0, 0, 0, 1, 2, 4, 8, 3])
    raw = cupola.zeros(host.nbytes + 16, np.uint8)
    if host.nbytes == 0:
        return cupola.empty(host.shape, host.dtype), "empty"
    raw[offset : offset + host.nbytes] = np.frombuffer(host.tobytes(), np.uint8)
    found = raw[offset : offset + host.nbytes].view(host.dtype).reshape(host.shape)
    return found, f"at {offset}"


def operand(choose, dtype, shape):
    """An array of a random byte order, alignment and layout."""
    dtype = np.dtype(dtype)
    layout = choose.choice(["C", "C", "F", "reversed", "steps", "padded", "repeated"])
    swapped = dtype.itemsize > 1 and choose.random() < 0.1
    kind = dtype.newbyteorder() if swapped else dtype
    if not shape or layout == "C":
        host = elements(choose, dtype, shape)
        there, place = at(choose, host.astype(kind))
    elif layout == "F":
        base = elements(choose, dtype, shape[::-1])
        there, place = at(choose, base.astype(kind))
        host, there = base.T, there.T
    elif layout == "reversed":
        base = elements(choose, dtype, shape)
        there, place = at(choose, base.astype(kind))
        key = tuple(slice(None, None, choose.choice([1, -1])) for _ in shape)
        host, there = base[key], there[key]
    elif layout == "repeated":
        base = elements(choose, dtype, (1, *shape[1:]))
        there, place = at(choose, base.astype(kind))
        host, there = np.broadcast_to(base, shape), cupola.broadcast_to(there, shape)
    else:
        step = 2 if layout == "steps" else 1
        base = elements(choose, dtype, (*shape[:-1], 2 * shape[-1]))
        there, place = at(choose, base.astype(kind))
        key = (..., slice(None, None if step == 2 else shape[-1], step))
        host, there = base[key], there[key]
    form = f"{layout} {place}{' swapped' if swapped else ''}"
    return Operand(host, there, form, swapped=swapped, written=layout != "repeated")


# -- operations -------------------------------------------------------------------------------
# Each takes the module (numpy or cupola), a source of choices and the arrays. The source repeats
# its choices for the second module.


class Operation:
    """A function of arrays."""

    def __init__(self, function, count=1, types=TYPES, *, exact=True, waits=False, writes=False):
        self.function, self.count, self.types = function, count, types
        self.exact, self.waits, self.writes = exact, waits, writes


def axis_of(choose, x, *, none=True):
    choices = [None] * none + list(range(-x.ndim, x.ndim))
    return choose.choice(choices) if choices else None


def indices(choose, x, module):
    """Indices along the first axis, on the host or with the array."""
    n = max(x.shape[0], 1)
    found = np.array([choose.randrange(-n, n) for _ in range(choose.randint(0, 4))], np.int64)
    on_device = choose.random() < 0.5
    return cupola.to_device(found) if on_device and module is cupola else found


def mask(choose, x, module):
    found = np.array([choose.random() < 0.5 for _ in range(x.size)], bool).reshape(x.shape)
    on_device = choose.random() < 0.7
    return cupola.to_device(found) if on_device and module is cupola else found


def ufunc(name):
    return lambda module, choose, *arrays: getattr(np, name)(*arrays)


def reduction(name):
    return lambda module, choose, x: getattr(x, name)(axis=axis_of(choose, x))


def along(name, *, none=True):
    def function(module, choose, x):
        return getattr(module, name)(x, axis=axis_of(choose, x, none=none))

    return function


def reshaped(module, choose, x):
    return x.reshape(choose.choice([(-1,), (1, -1), (-1, 1)]) if x.size else x.shape)


def rolled(module, choose, x):
    return module.roll(x, choose.randint(-3, 3), axis=axis_of(choose, x))


def written(module, choose, x, y):
    """An assignment by a slice, an index, a mask, or in place."""
    way = choose.choice(["all", "slice", "index", "mask", "add", "fill", "number", "shift", "flip"])
    if way == "all":
        x[...] = y
    elif way == "add":
        x += y
    elif way == "shift":
        x[1:] = x[:-1]
    elif way == "flip":
        x[...] = x[::-1]
    elif way == "fill":
        x.fill(1)
    elif way == "slice":
        x[choose.choice([slice(1, None), slice(None, None, -1), slice(None, 2)])] = 1
    elif way == "index":
        x[indices(choose, x, module)] = 1
    elif way == "mask":
        x[mask(choose, x, module)] = 1
    else:
        x[...] = 1
    return x


def taken(module, choose, x):
    way = choose.choice(["index", "mask", "slice", "take", "compress", "int"])
    if way == "index":
        return x[indices(choose, x, module)]
    if way == "mask":
        return x[mask(choose, x, module)]
    if way == "take":
        return module.take(x, indices(choose, x, np), axis=0)
    if way == "compress":
        return module.compress([choose.random() < 0.5 for _ in range(x.shape[0])], x, axis=0)
    return x[choose.choice([slice(1, None), slice(None, None, -2)])] if way == "slice" else x[0]


def padded(module, choose, x):
    mode = choose.choice(["constant", "edge", "wrap", "reflect"])
    return module.pad(x, choose.randint(0, 3), mode=mode)


def repeated(module, choose, x):
    return module.repeat(x, choose.randint(0, 3), axis=axis_of(choose, x))


def converted(module, choose, x):
    kind = choose.choice(["i4", "f4", "f8", "c16", "u1"])
    if kind == "u1":
        x = x.astype("i4")  # NumPy's result for a negative float depends on the processor
    return x.astype(kind)


def where(module, choose, x, y):
    return (
        module.where(mask(choose, x, module), x, y)
        if module is np
        else module.where(cupola.asarray(mask(choose, x, module)), x, y)
    )


def searched(module, choose, x, y):
    return module.searchsorted(module.sort(x.reshape(-1)), y, side=choose.choice(["left", "right"]))


def joined(module, choose, x, y):
    return module.concatenate([x, y], axis=choose.choice([0, -1, None]))


def counted(module, choose, x):
    return module.bincount(x.reshape(-1))


def any_order(choose, dtype):
    """The dtype in a random byte order."""
    dtype = np.dtype(dtype)
    return dtype.newbyteorder() if choose.random() < 0.5 else dtype


def set_from_host(module, choose, x, y):
    """All elements from a host array of a random type and byte order."""
    dtype = x.dtype.newbyteorder("=") if choose.random() < 0.3 else np.dtype(choose.choice(TYPES))
    host = elements(choose, dtype, x.shape).astype(any_order(choose, dtype))
    if module is cupola:
        x.set(host)
    else:
        x[...] = host
    return x


def got_by_host(module, choose, x):
    """All elements in a host array of a random type and byte order that takes them."""
    dtype = np.dtype(choose.choice(TYPES))
    if choose.random() < 0.3 or not np.can_cast(x.dtype, dtype, "same_kind"):
        dtype = x.dtype.newbyteorder("=")
    if module is np:
        return x.astype(dtype)
    return x.get(out=np.zeros(x.shape, any_order(choose, dtype)))


def number(module, choose, x):
    """A number of Python, where there is one element."""
    return x if x.size != 1 else np.asarray(choose.choice([float, int, complex, bool])(x))


SUMS = "sum max min any all argmax argmin"
SIMPLE = "add subtract multiply maximum minimum equal less greater_equal not_equal"
OPERATIONS = {
    **{name: Operation(ufunc(name), 2) for name in SIMPLE.split()},
    **{name: Operation(ufunc(name)) for name in ("negative", "square", "positive")},
    **{name: Operation(ufunc(name), 2, INTEGERS) for name in ("bitwise_and", "bitwise_xor")},
    **{name: Operation(ufunc(name), 2, exact=False) for name in ("true_divide", "logaddexp")},
    **{name: Operation(ufunc(name), exact=False) for name in ("sqrt", "exp", "sin", "arctan")},
    **{name: Operation(reduction(name)) for name in SUMS.split()},
    **{name: Operation(reduction(name), exact=False) for name in ("mean", "std", "var", "prod")},
    **{name: Operation(along(name)) for name in ("cumsum", "flip", "nansum", "count_nonzero")},
    **{name: Operation(along(name)) for name in ("sort", "nanmax")},
    **{name: Operation(ufunc(name), types=REALS) for name in ("absolute", "floor")},
    "argsort": Operation(lambda m, c, x: m.argsort(x, axis=-1, kind="stable")),
    "cumprod": Operation(along("cumprod"), exact=False),
    "nanprod": Operation(along("nanprod"), exact=False),
    "sign": Operation(ufunc("sign"), types=REALS, exact=False),
    "median": Operation(along("median"), types=REALS, exact=False),
    "diff": Operation(lambda m, c, x: m.diff(x)),
    "take": Operation(taken, waits=True),
    "write": Operation(written, 2, waits=True, writes=True),
    "set": Operation(set_from_host, 2, waits=True, writes=True),
    "get": Operation(got_by_host, waits=True),
    "number": Operation(number, waits=True),
    "reshape": Operation(reshaped),
    "transpose": Operation(lambda m, c, x: x.T.copy()),
    "copy": Operation(lambda m, c, x: x.copy()),
    "roll": Operation(rolled),
    "pad": Operation(padded),
    "repeat": Operation(repeated),
    "tile": Operation(lambda m, c, x: m.tile(x, c.randint(0, 3))),
    "concatenate": Operation(joined, 2),
    "stack": Operation(lambda m, c, x, y: m.stack([x, y], axis=c.choice([0, -1])), 2),
    "astype": Operation(converted, types=REALS),
    "where": Operation(where, 2),
    "clip": Operation(lambda m, c, x: m.clip(x, 0, 1), types=REALS),
    "round": Operation(lambda m, c, x: m.round(x)),
    "unique": Operation(lambda m, c, x: m.unique(x), waits=True),
    "nonzero": Operation(lambda m, c, x: m.nonzero(x)[0], waits=True),
    "isin": Operation(lambda m, c, x, y: m.isin(x, y), 2),
    "searchsorted": Operation(searched, 2, REALS),
    "dot": Operation(lambda m, c, x, y: m.dot(x, y), 2, exact=False),
    "matmul": Operation(lambda m, c, x, y: x @ y.T, 2, exact=False),
    "nanargmin": Operation(along("nanargmin"), waits=True),
    "partition": Operation(lambda m, c, x: m.sort(m.partition(x, 0, axis=-1), axis=-1)),
    "percentile": Operation(lambda m, c, x: m.percentile(x, c.choice([0, 30, 50])), types=REALS,
                            exact=False),
    "ptp": Operation(lambda m, c, x: x.max(axis_of(c, x, none=False)) if x.ndim else x.max()),
    "expand": Operation(lambda m, c, x: m.expand_dims(x, c.choice([0, -1]))),
    "squeeze": Operation(lambda m, c, x: m.squeeze(x)),
    "moveaxis": Operation(lambda m, c, x: m.moveaxis(x, 0, -1)),
    "delete": Operation(lambda m, c, x: m.delete(x, c.randint(-2, 2), axis=axis_of(c, x))),
    "insert": Operation(lambda m, c, x: m.insert(x, c.randint(0, 2), 1, axis=axis_of(c, x))),
    "append": Operation(lambda m, c, x, y: m.append(x, y, axis=axis_of(c, x)), 2),
    "split": Operation(lambda m, c, x: m.array_split(x, c.randint(1, 3))[-1]),
    "tril": Operation(lambda m, c, x: m.tril(x, c.randint(-1, 1))),
    "diag": Operation(lambda m, c, x: m.diag(x)),
    "cross": Operation(lambda m, c, x, y: m.cross(x, y) if x.shape[-1] == 3 else x, 2),
    "union1d": Operation(lambda m, c, x, y: m.union1d(x, y), 2, waits=True),
    "setdiff1d": Operation(lambda m, c, x, y: m.setdiff1d(x, y), 2, waits=True),
    "digitize": Operation(lambda m, c, x: m.digitize(x, np.array([-1, 0, 1.5])), types=REALS),
    "histogram": Operation(lambda m, c, x: m.histogram(x, 4, (-4, 4))[0], types=REALS),
    "interp": Operation(
        lambda m, c, x: m.interp(x, m.asarray([-3.0, 0, 2]), m.asarray([1.0, 0, 5])),
        types=REALS, exact=False,
    ),
    "isclose": Operation(lambda m, c, x, y: m.isclose(x, y), 2),
    "along": Operation(
        lambda m, c, x: m.take_along_axis(x, m.argsort(x, axis=-1, kind="stable"), -1), waits=True
    ),
    "cumulative_sum": Operation(lambda m, c, x: m.cumulative_sum(x, axis=-1)),
    "outer": Operation(lambda m, c, x, y: m.outer(x, y), 2),
    "trace": Operation(lambda m, c, x: m.trace(x)),
    "bincount": Operation(counted, types=["u1", "u2"], waits=True),
}  # fmt: skip


# -- programs ---------------------------------------------------------------------------------


def compute(operation, module, arrays, seed):
    """The result, or the error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return operation.function(module, random.Random(seed), *arrays), None
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        return None, error


def digest(found):
    """Of an array's type, shape and bytes."""
    about = f"{found.dtype.str} {found.shape} ".encode()
    return hashlib.sha256(about + found.tobytes()).hexdigest()[:16]


def compare(found, expected, exact):
    """Raise a Mismatch, or return the digest of the result."""
    expected = np.asarray(expected)
    found = found.get() if isinstance(found, cupola.Array) else np.asarray(found)
    # A move of swapped elements keeps their order.
    if (found.shape, found.dtype.newbyteorder("=")) != (expected.shape, expected.dtype):
        raise Mismatch(f"got {found.dtype}{found.shape}, not {expected.dtype}{expected.shape}")
    near = NEAR.get(expected.dtype.str[1:], 0)
    if exact or not near:
        same = np.array_equal(found, expected, equal_nan=expected.dtype.kind in "fc")
    else:
        same = np.allclose(found, expected, rtol=near, atol=near, equal_nan=True)
    if not same:
        raise Mismatch(f"got {found.tolist()}, not {expected.tolist()}")
    return digest(found)


class Program:
    """A few operations, each on operands or earlier results."""

    def __init__(self, seed):
        self.seed, self.choose = seed, random.Random(seed)
        self.captured = self.choose.random() < 0.5
        self.lines = []
        self.results = []  # an operation and the digest of its result

    def __str__(self):
        where = "in a capture" if self.captured else "outside of captures"
        return "\n".join([f"program {self.seed}, {where}:", *self.lines])

    def run(self):
        try:
            self._run()
        except Mismatch as error:
            raise Mismatch(f"{self}\n{error}") from None
        except Exception as error:
            raise Mismatch(f"{self}\n{type(error).__name__}: {error}") from error

    def _run(self):
        choose = self.choose
        dtype = choose.choice(TYPES)
        shape = tuple(choose.choice(LENGTHS) for _ in range(choose.choice([0, 1, 1, 2, 2, 3])))
        if choose.random() < 0.1:
            shape = choose.choice([(257,), (1100,), (9, 130), (130, 9)])
        live = [operand(choose, dtype, shape) for _ in range(3)]
        if choose.random() < 0.3:
            live[1] = operand(choose, choose.choice(TYPES), shape)
        checks = []
        if not self.captured:
            for _ in range(choose.randint(1, 4)):
                self._step(live, checks)
                self._compare(checks)
                checks.clear()
            return
        stream = cupola.Stream()
        cupola.Device().synchronize()
        with stream.capture() as graph:
            for _ in range(choose.randint(1, 4)):
                self._step(live, checks)
        graph.instantiate().launch(stream)
        stream.synchronize()
        self._compare(checks)

    def _compare(self, checks):
        for name, *check in checks:
            self.results.append([name, compare(*check)])

    def _step(self, live, checks):
        choose = self.choose
        name = choose.choice(list(OPERATIONS))
        operation, seed = OPERATIONS[name], choose.randrange(1 << 30)
        arrays = [choose.choice(live) for _ in range(operation.count)]
        if operation.writes and (arrays[0] is arrays[-1] or not arrays[0].written):
            return
        self.lines.append(f"  {name}({', '.join(map(repr, arrays))}) by {seed}")
        before = arrays[0].host
        if operation.writes:  # a copy, which may be another array's base
            arrays[0] = Operand(before.copy(), arrays[0].there, arrays[0].form,
                                swapped=arrays[0].swapped)  # fmt: skip
        hosts = [one.host for one in arrays]
        expected, refused = compute(operation, np, hosts, seed)
        found, error = compute(operation, cupola, [one.there for one in arrays], seed)
        if error is not None:
            self._judge(operation, name, arrays, refused, error)
            return
        if refused is not None:
            raise Mismatch(f"NumPy refuses: {refused}")
        if self.captured and isinstance(found, cupola.Array):
            found = found.copy()  # copies a view before a later operation writes its memory
        checks.append((name, found, expected.copy(), operation.exact))
        expected = np.asarray(expected)
        small = expected.size < 3000 and np.all(np.abs(expected.astype(complex)) <= MOST)
        if operation.exact and isinstance(found, cupola.Array) and small and not operation.writes:
            swapped = not found.dtype.isnative
            live.append(Operand(expected, found, f"of {name}", swapped=swapped, written=False))
        elif operation.writes:
            live[:] = [one for one in live if one.there is not arrays[0].there]

    def _judge(self, operation, name, arrays, refused, error):
        """Raise unless there is a reason for the error."""
        if refused is not None:
            return
        if not isinstance(error, (cupola.Error, IndexError)):
            raise Mismatch(f"{name} raises {type(error).__name__}: {error}")
        text = str(error)
        if any(one.swapped for one in arrays) and (
            "byte order" in text or "<" in text or ">" in text
        ):
            return
        if self.captured and operation.waits and "captured" in text:
            return
        if any(one.host.dtype.str[1:] not in operation.types for one in arrays):
            return
        if operation.writes and "same_kind" in text:
            return  # NumPy's assignments cast without a rule
        raise Mismatch(f"{name} is refused: {type(error).__name__}: {error}")


def other_bits(here, there):
    """The operations whose results have other bits here than on the other machine."""
    if [*here] != [*there]:
        raise SystemExit("the record has other programs: name the same --programs and --seed")
    found = []
    for seed, results in here.items():
        for ours, theirs in zip_longest(results, there[seed], fillvalue=("nothing", "")):
            if [*ours] != [*theirs]:
                found.append(f"program {seed}: {ours[0]} here, {theirs[0]} there")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", help="keep digests of the results in this file")
    parser.add_argument("--compare", help="compare digests with those of this file")
    options = parser.parse_args()
    failed, results = 0, {}
    for seed in range(options.seed, options.seed + options.programs):
        program = Program(seed)
        try:
            program.run()
        except Mismatch as error:
            failed += 1
            print(error, end="\n\n", flush=True)
        results[str(seed)] = program.results
    if options.record:
        Path(options.record).write_text(json.dumps(results))
    print(f"{options.programs} programs, {failed} failed")
    differing = []
    if options.compare:
        differing = other_bits(results, json.loads(Path(options.compare).read_text()))
        count = sum(map(len, results.values()))
        print(*differing[:50], f"{len(differing)} of {count} results have other bits", sep="\n")
    return int(failed > 0 or len(differing) > 0)


if __name__ == "__main__":
    raise SystemExit(main())
