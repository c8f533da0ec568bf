# cupola/arrays/promotion.pyx - computed and result types of operations, cached from NumPy.
# cython: language_level=3, boundscheck=False, wraparound=False

cimport cython
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

import numpy as np

from cupola._abi cimport CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID
from cupola._elementwise cimport (
    CUPOLA_BOOL, CUPOLA_UINT64, cupola_operation, cupola_operation_is_function,
    cupola_operation_name, cupola_operation_result,
)
from cupola.abi cimport require
from cupola._free_threading cimport load, store
from cupola.element cimport is_native
from cupola.array_data cimport ArrayData

from cupola.exceptions import ArgumentTypeError, Error

# In the order of elementwise.h's codes.
cdef list DTYPES = [None] + [np.dtype(name) for name in (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "float32", "float64", "complex64", "complex128")]
# longlong has its own type number, but equals int64: a dict lookup finds it.
cdef dict CODES = {dtype: code for code, dtype in enumerate(DTYPES) if code}
cdef list WEAK_TYPES = [int, float, complex]
cdef int[15] SIZES
SIZES[:] = [0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 8, 16]


cdef const char* LETTERS = b"\0biiiiuuuufffcc"


cdef int element_of(object dtype):
    return CODES.get(dtype, 0) if dtype.isnative else 0


cdef int element_code(ArrayData array) except -1:
    cdef int element = load(array.element)
    if element == 0:
        element = element_of(array.dtype)
        store(array.element, element)
        if element == 0:
            if not is_native(array.dtype):
                raise ArgumentTypeError(
                    f"arithmetic on {array.dtype} is not supported: pass "
                    "cupola.to_device(x.get()), which converts the byte order")
            raise ArgumentTypeError(
                f"arithmetic on {array.dtype} is not supported; use bool, integers, float16 to "
                "float64, complex64 or complex128")
    return element


cdef object dtype_of(int element):
    return DTYPES[element]


cdef Py_ssize_t size_of(int element) noexcept:
    return SIZES[element]


cdef char letter_of(int element) noexcept:
    return LETTERS[element]


cdef list names_of_operations():
    cdef list names = []
    cdef const char* name
    cdef int index = 0
    while (name := cupola_operation_name(index)) != NULL:
        names.append(name.decode())
        index += 1
    return names


# In the order of NamedUfunc.
cdef list NAMED = [
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "power", "negative",
    "positive", "absolute", "invert", "equal", "not_equal", "less", "less_equal", "greater",
    "greater_equal", "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift",
    "square", "sqrt", "reciprocal"]
# The ufuncs that have kernels, as the library lists them, and ufuncs that use another's kernel.
cdef dict ALIASES = {
    np.fabs: "absolute", np.degrees: "rad2deg", np.radians: "deg2rad", np.float_power: "power"}
cdef list UFUNCS = [getattr(np, name) for name in dict.fromkeys(NAMED + names_of_operations())]
UFUNCS += list(ALIASES)
cdef list NAMES = [ALIASES.get(ufunc, ufunc.__name__).encode() for ufunc in UFUNCS]
cdef dict NUMBERS = {ufunc: number for number, ufunc in enumerate(UFUNCS)}
cdef Plan* PLANS[512]  # for each ufunc, KINDS_OF_OPERAND squared; made at its first use

for _number in range(512):
    PLANS[_number] = NULL
if len(UFUNCS) > 512:
    raise ImportError("more operations than PLANS has room for")


cdef int number_of(object ufunc) except -2:
    return NUMBERS.get(ufunc, -1)


cdef str name_of(int number):
    return UFUNCS[number].__name__


cdef object kind_of(int code):
    return WEAK_TYPES[code - WEAK_INT] if code >= WEAK_INT else DTYPES[code]


cdef const Plan* plan_of(int number, int first, int second) except NULL:
    cdef Plan* plans = load(PLANS[number])
    cdef Plan* plan
    cdef Plan made
    if plans == NULL:
        plans = make_plans(number)
    plan = &plans[first * KINDS_OF_OPERAND + second]
    if not load(plan.known):
        memset(&made, 0, sizeof(made))
        make_plan(&made, number, first, second, None)
        with cython.critical_section(NUMBERS):
            if not plan.known:  # else another thread was first, and the plan is in use
                made.known = False
                memcpy(plan, &made, sizeof(made))
                store(plan.known, <bint>True)
    return plan


cdef Plan* make_plans(int number) except NULL:
    cdef Plan* plans = <Plan*>calloc(KINDS_OF_OPERAND * KINDS_OF_OPERAND, sizeof(Plan))
    if plans == NULL:
        raise MemoryError
    with cython.critical_section(NUMBERS):
        if PLANS[number] == NULL:
            store(PLANS[number], plans)
    if PLANS[number] != plans:  # another thread was first
        free(plans)
    return PLANS[number]


cdef Plan* plan_with(int number, int first, int second, object dtype) except NULL:
    cdef Plan* plan = <Plan*>calloc(1, sizeof(Plan))
    if plan == NULL:
        raise MemoryError
    try:
        make_plan(plan, number, first, second, dtype)
    except BaseException:
        free(plan)
        raise
    return plan


cdef void free_plan(Plan* plan) noexcept:
    free(plan)


cdef int make_plan(Plan* plan, int number, int first, int second, object dtype) except -1:
    ufunc = UFUNCS[number]
    kinds = [kind_of(first)]
    if ufunc.nin == 2:
        kinds.append(kind_of(second))
    wanted = {} if dtype is None else {"signature": (None,) * len(kinds) + (dtype,)}
    if not hasattr(ufunc, "resolve_dtypes"):
        raise Error(
            "arithmetic on arrays needs NumPy 1.25 or newer, which provides result types; this is "
            f"NumPy {np.__version__}")
    # Raises as NumPy does.
    *loop, result = ufunc.resolve_dtypes((*kinds, None), **wanted)
    plan.element = CODES.get(loop[0], 0)
    plan.result = CODES.get(result, 0)
    if len(loop) == 2 and loop[0] != loop[1]:
        # Only comparisons have loops of two types: no type can hold both int64 and uint64.
        plan.element = CUPOLA_UINT64
    if plan.element == CUPOLA_BOOL and {first, second} - {0, CUPOLA_BOOL}:
        # A truth value is computed in a type that holds the operand.
        plan.element = CODES.get(np.result_type(
            *[np.bool_ if isinstance(kind, type) else kind for kind in kinds]), 0)
        plan.truth = True
    plan.operation = cupola_operation(NAMES[number], plan.element)
    if plan.operation < 0 or not plan.result:
        told = " and ".join(
            ["Python's " + kind.__name__ if isinstance(kind, type) else str(kind)
             for kind in kinds])
        raise ArgumentTypeError(
            f"{ufunc.__name__} of {told} computes in {loop[0]}, for which cupola has no kernel")
    plan.flat = plan.result == cupola_operation_result(plan.operation, plan.element)
    plan.function = cupola_operation_is_function(plan.operation)
    plan.known = True
    return 0


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
