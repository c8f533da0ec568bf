# cupola/variant_choice.pyx - the variant of a key: the nearest measured row that can be launched.
# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""The choice among a family's variants on one device."""

cimport cython
from libc.math cimport HUGE_VAL, fabs, log1p
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from cupola._abi cimport CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID
from cupola.abi cimport require

from cupola.declare.expression import ExpressionError
from cupola.exceptions import (
    ArgumentError, ArgumentValueError, CompileError, ImageError, NotFoundError,
)

cdef extern from *:
    """
    static inline int cupola_add(int64_t a, int64_t b, int64_t* c) {
        return __builtin_add_overflow(a, b, c);
    }
    static inline int cupola_subtract(int64_t a, int64_t b, int64_t* c) {
        return __builtin_sub_overflow(a, b, c);
    }
    static inline int cupola_multiply(int64_t a, int64_t b, int64_t* c) {
        return __builtin_mul_overflow(a, b, c);
    }
    """
    bint cupola_add(int64_t a, int64_t b, int64_t* c) nogil
    bint cupola_subtract(int64_t a, int64_t b, int64_t* c) nogil
    bint cupola_multiply(int64_t a, int64_t b, int64_t* c) nogil

cdef enum:
    MOST_SLOTS = 256  # values that expressions use: sizes of a call, computed sizes, tunables
    MOST_DEPTH = 32  # as in cupola.declare.expression
    MOST_VARIANTS = 4096

cdef double LN2 = 0.6931471805599453
cdef double FAR = 1 + 1e-9  # of the differences of log2: a factor of 2, and rounding

# The operators, in the order of cupola.declare.expression, after the steps for a number and a slot.
cdef enum Operator:
    NUMBER, SLOT, ADD, SUBTRACT, MULTIPLY, DIVIDE, MODULO, CEILDIV, MIN, MAX

# The errors of a variant that can't be loaded or launched.
cdef tuple REFUSALS = (ArgumentError, CompileError, ExpressionError, ImageError, NotFoundError)


cdef class LaunchSteps:
    """The key and the launches of a family, in postfix order.

    Parameters
    ----------
    declaration : FamilyDeclaration
        For errors.
    first_tunable : int
        The slot of the first tunable, after those of symbols and sizes.
    sizes, launch : sequence of sequence of (int, int)
        The steps of each computed size, and of the axes of grid and block, and shared memory.
    key : sequence of int
        The slots of the key's sizes.
    values : sequence of sequence of int
        The tunables of each variant; 0 for a word.
    """

    def __cinit__(self):
        self.code = self.values = NULL

    def __dealloc__(self):
        free(self.code)
        free(self.values)

    def __init__(self, declaration, Py_ssize_t first_tunable, sizes, launch, key, values):
        cdef Py_ssize_t at = 0
        self.declaration, self.variants = declaration, declaration.variants
        self.symbols, self.sizes = first_tunable - len(sizes), len(sizes)
        self.tunables, self.width = len(declaration.tunables), len(key)
        self.grid_axes, self.block_axes = len(declaration.grid), len(declaration.block)
        if first_tunable + self.tunables > MOST_SLOTS or len(declaration.symbols) + len(
            declaration.types
        ) > MOST_SIZES:
            raise ArgumentValueError(
                f"the declaration uses more than {MOST_SIZES} sizes and types of arguments, or "
                f"more than {MOST_SLOTS} sizes and tunables: name fewer")
        steps = [*sizes, *launch]
        self.code = <int64_t*>malloc((sum([1 + 2 * len(one) for one in steps]) + 1) * 8)
        self.values = <int64_t*>malloc((len(values) * self.tunables + 1) * 8)
        if self.code == NULL or self.values == NULL:
            raise MemoryError
        for one in steps:
            self.code[at] = len(one)
            at += 1
            for operator, value in one:
                self.code[at], self.code[at + 1] = operator, value
                at += 2
        at = 0
        for variant in values:
            for value in variant:
                self.values[at] = value
                at += 1
        for at, slot in enumerate(key):
            self.key[at] = slot

    cdef const int64_t* compute(self, const int64_t* given, int64_t* slots) except NULL:
        """Compute the sizes. Returns the steps of the launch."""
        cdef const int64_t* code = self.code
        cdef Py_ssize_t i
        for i in range(self.symbols):
            slots[i] = given[i]
        for i in range(self.sizes):
            code = evaluate(code, slots, &slots[self.symbols + i])
            if code == NULL:
                self.declaration.key_of(self.named(given))  # raises the error with its text
                raise ExpressionError("a size can't be computed")
        return code

    cdef tuple dimensions(
        self, const int64_t* code, int64_t* slots, int variant, const int64_t* given
    ):
        """Grid, block and bytes of shared memory of a variant."""
        cdef Py_ssize_t i, first = self.symbols + self.sizes
        cdef int64_t found[7]
        for i in range(self.tunables):
            slots[first + i] = self.values[variant * self.tunables + i]
        for i in range(self.grid_axes + self.block_axes + 1):
            code = evaluate(code, slots, &found[i])
            if code == NULL:
                self.declaration.launch(self.variants[variant], self.named(given))
                raise ExpressionError("the launch can't be computed")
        i = self.grid_axes
        return axes(found, i), axes(found + i, self.block_axes), found[i + self.block_axes]

    cdef bint has_zero(self, const int64_t* slots) noexcept:
        """Whether a symbol or a computed size is 0."""
        cdef Py_ssize_t i
        for i in range(self.symbols + self.sizes):
            if slots[i] == 0:
                return True
        return False

    cdef dict named(self, const int64_t* given):
        return {name: given[i] for i, name in enumerate(self.declaration.symbols)}

    def evaluated(self, int variant, tuple given not None):
        """The key, and grid, block and shared memory of a variant, for the symbols' values."""
        cdef int64_t values[MOST_SIZES]
        cdef int64_t slots[MOST_SLOTS]
        cdef const int64_t* code
        take(given, values)
        code = self.compute(values, slots)
        key = tuple([slots[self.key[i]] for i in range(self.width)])
        return key, self.dimensions(code, slots, variant, values)


cdef int take(tuple given, int64_t* out) except -1:
    for i, value in enumerate(given):
        out[<int>i] = value
    return 0


cdef inline object axes(const int64_t* found, Py_ssize_t count):
    if count == 1:
        return found[0]
    if count == 2:
        return (found[0], found[1])
    return (found[0], found[1], found[2])


cdef const int64_t* evaluate(const int64_t* code, const int64_t* slots, int64_t* out) noexcept:
    """Evaluate one expression. Returns the steps after it; NULL where `evaluate` raises."""
    cdef int64_t stack[MOST_DEPTH + 1]
    cdef int64_t count = code[0]
    cdef int64_t left, right
    cdef int top = -1
    code += 1
    while count:
        if code[0] == NUMBER or code[0] == SLOT:
            top += 1
            stack[top] = slots[code[1]] if code[0] == SLOT else code[1]
        else:
            right = stack[top]
            top -= 1
            left = stack[top]
            if code[0] == ADD:
                if cupola_add(left, right, &stack[top]):
                    return NULL
            elif code[0] == SUBTRACT:
                if cupola_subtract(left, right, &stack[top]):
                    return NULL
            elif code[0] == MULTIPLY:
                if cupola_multiply(left, right, &stack[top]):
                    return NULL
            elif code[0] == MIN or code[0] == MAX:
                if (right < left) == (code[0] == MIN):
                    stack[top] = right
            else:
                if left < 0 or right <= 0:
                    return NULL
                # Both operators of C agree with Python's for such numbers.
                if code[0] == MODULO:
                    stack[top] = left % right
                else:
                    stack[top] = left // right + (code[0] == CEILDIV and left % right != 0)
        code += 2
        count -= 1
    out[0] = stack[0]
    return code


cdef class Entry:
    """The launch for one key."""


cdef class Chooser:
    """The choice of variants on one device, for arguments of given types.

    Parameters
    ----------
    steps : LaunchSteps
    device : int
    types : tuple of str
    rows : sequence of (int, tuple of int, int)
        Level, key and variant of measured rows. Rows of a lower level come first.
    default : int
        The declared variant.
    dropped : iterable of int
        Variants that the image lacks for this device.
    tunes : bool
        Whether a key that is far from all rows is measured at its first use.
    """

    def __cinit__(self):
        self.sizes = NULL
        self.levels = self.variants = NULL

    def __dealloc__(self):
        free(self.sizes)
        free(self.levels)
        free(self.variants)

    def __init__(
        self, LaunchSteps steps not None, int device, tuple types not None, rows, int default,
        dropped, bint tunes
    ):
        cdef Py_ssize_t at = 0, i
        self.steps, self.device, self.types, self.tunes = steps, device, types, tunes
        self.kernels = [None] * len(steps.variants)
        self.default, self.dropped, self.count = default, set(dropped), len(rows)
        self.sizes = <double*>malloc((self.count * steps.width + 1) * sizeof(double))
        self.levels = <int*>malloc((self.count + 1) * sizeof(int))
        self.variants = <int*>malloc((self.count + 1) * sizeof(int))
        if self.sizes == NULL or self.levels == NULL or self.variants == NULL:
            raise MemoryError
        for at, (level, key, variant) in enumerate(rows):
            self.levels[at], self.variants[at] = level, variant
            for i in range(steps.width):
                self.sizes[at * steps.width + i] = scale(key[i])

    cdef Entry choose(self, object family, const int64_t* given):
        cdef int64_t slots[MOST_SLOTS]
        cdef double wanted[MOST_KEY]
        cdef char refused[MOST_VARIANTS]
        cdef const int64_t* code = self.steps.compute(given, slots)
        cdef Entry entry = Entry.__new__(Entry)
        cdef Py_ssize_t i, row
        cdef int variant
        for i in range(self.steps.width):
            wanted[i] = scale(slots[self.steps.key[i]])
        for i in range(len(self.kernels)):
            refused[i] = False
        for dropped in self.dropped:
            refused[<int>dropped] = True
        entry.refused = {}
        while True:
            row = self.nearest(wanted, refused)
            if row < 0:
                break
            variant = self.variants[row]
            if self.configure(family, entry, code, slots, variant, given):
                entry.row, entry.far = row, self.is_far(row, wanted)
                return entry
            refused[variant] = True
        entry.row, entry.far = -1, True
        if self.default not in self.dropped:
            if not self.configure(family, entry, code, slots, self.default, given):
                raise entry.refused[self.default]
            return entry
        for variant in range(len(self.kernels)):
            if not refused[variant] and self.configure(
                family, entry, code, slots, variant, given
            ):
                return entry
        raise ArgumentValueError(
            f"none of the {len(self.kernels)} variants can be launched on device {self.device}: "
            + next((str(one) for one in entry.refused.values()), "the image has none of them"))

    cdef Py_ssize_t nearest(self, const double* wanted, const char* refused) noexcept:
        cdef Py_ssize_t row, found = -1
        cdef double distance, best = HUGE_VAL
        for row in range(self.count):
            if refused[self.variants[row]]:
                continue
            if found >= 0 and self.levels[row] > self.levels[found]:
                break
            distance = self.distance(row, wanted)
            if found < 0 or distance < best:
                found, best = row, distance
        return found

    cdef double distance(self, Py_ssize_t row, const double* wanted) noexcept:
        """The square of the distance, in powers of two."""
        cdef double one, total = 0
        cdef Py_ssize_t i
        for i in range(self.steps.width):
            one = self.sizes[row * self.steps.width + i] - wanted[i]
            total += one * one
        return total

    cdef bint is_far(self, Py_ssize_t row, const double* wanted) noexcept:
        cdef Py_ssize_t i
        for i in range(self.steps.width):
            if fabs(self.sizes[row * self.steps.width + i] - wanted[i]) > FAR:
                return True
        return False

    cdef bint configure(
        self, object family, Entry entry, const int64_t* code, int64_t* slots, int variant,
        const int64_t* given
    ) except -1:
        """Whether the device can launch the variant."""
        try:
            with cython.critical_section(self):
                kernel = self.kernels[variant]
            if kernel is None:
                kernel = family._kernel(self.steps.variants[variant], self.types, self.device)
                with cython.critical_section(self):
                    self.kernels[variant] = kernel
            grid, block, shared = self.steps.dimensions(code, slots, variant, given)
            # Without elements there are no blocks, and the arguments are checked alone. A grid of 0
            # for other sizes is a mistake in its expression, which the kernel refuses.
            empty = 0 in <tuple>grid if type(grid) is tuple else grid == 0
            if empty and self.steps.has_zero(slots):
                entry.configured = kernel.forall(0)
            else:
                entry.configured = kernel[grid, block, None, shared]
        except REFUSALS as error:
            entry.refused[variant] = error
            return False
        entry.variant = variant
        return True

    def choose_for(self, family, tuple given not None):
        """The `Entry` for the symbols' values."""
        cdef int64_t values[MOST_SIZES]
        take(given, values)
        return self.choose(family, values)

    def distances(self, tuple key not None):
        """The distance of each row from a key: the root of the sum of squares of differences of
        log2(1 + size).
        """
        cdef double wanted[MOST_KEY]
        for i, size in enumerate(key):
            wanted[<int>i] = scale(size)
        return [self.distance(row, wanted) ** 0.5 for row in range(self.count)]


cdef inline double scale(int64_t size) noexcept:
    # glibc's log2 has a version of 2.29, and wheels are for older systems, too.
    return log1p(<double>max(size, 0)) / LN2


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
