# cupola/arrays/planned_call.pyx - calls of an algorithm whose arguments are like those of a call
# before.
# cython: language_level=3, boundscheck=False, wraparound=False
"""`PlannedCalls`: the fast path of algorithms' repeated calls.

The second call with arguments of the same form is recorded: its launches, fills, copies on the
device and allocations. The function then runs once more, on other memory and without sending work
to the device. Words that differ between the two records are addresses. A plan has the rest. Later
calls queue its work for their own addresses, without the function's code.

A call has no plan where it copies from or to the host, waits, or uses other libraries, so work that
depends on the elements is never planned. Instead of a plan, a form can have a product by cuBLAS.
"""

import threading

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint64_t

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, CUPOLA_WOULD_WAIT, cupola_captures,
)
from cupola._send cimport forget_line, note_line
from cupola._work cimport (
    cupola_extent, cupola_work, cupola_work_allocation, cupola_work_allocations, cupola_work_begin,
    cupola_work_end, cupola_work_plan, cupola_work_plan_create, cupola_work_plan_release,
    cupola_work_plan_run, cupola_work_refuse, cupola_work_release, cupola_work_usable,
)
from cupola.abi cimport require
from cupola.array_data cimport ARRAY, ArrayData, lay, owner_of
from cupola.arrays.call_form cimport ALIGNMENT, Form, describe
from cupola.arrays.gemm_call cimport GemmCall
from cupola.error cimport check
from cupola.memory cimport Memory, allocate
from cupola.stream cimport Stream, current_stream

cdef enum:
    MAX_PLANS = 256  # the most forms of arguments that a function keeps
    MAX_PLACES = 64  # operands and allocations

cdef object SEEN = object()  # one call had arguments of this form
cdef object REFUSED = object()  # the call can't be planned
cdef object OFFERS = threading.local()  # `wanted` in a record, and the `product` that is offered


cdef class Result:
    """An array that a call returns: where it lies, and its form."""

    cdef Py_ssize_t place  # of an operand or an allocation
    cdef bint is_operand  # the operand itself
    cdef uint64_t offset
    cdef tuple shape, steps
    cdef object dtype
    cdef Py_ssize_t size, itemsize, nbytes
    cdef char kind
    cdef int element
    cdef bint contiguous, direct, readonly

    cdef bint is_like(self, Result other) except -1:
        return (
            self.place == other.place and self.is_operand == other.is_operand
            and self.offset == other.offset and self.shape == other.shape
            and self.steps == other.steps and self.dtype == other.dtype
            and self.readonly == other.readonly)


cdef class Plan:
    cdef cupola_work_plan* native
    cdef tuple held  # objects that the key has by their addresses
    cdef Py_ssize_t operands, places
    cdef size_t[MAX_PLACES] sizes  # bytes of allocations, behind the operands
    cdef tuple results  # of Result
    cdef object alone  # whether the call returns an array, not a tuple; None: it returns None

    def __dealloc__(self):
        with nogil:  # this may release the last reference of a kernel's image
            cupola_work_plan_release(self.native)


cdef class Work:
    """The recorded work of a call, and its results."""

    cdef cupola_work* native
    cdef Form form
    cdef tuple results
    cdef object alone

    def __dealloc__(self):
        with nogil:
            cupola_work_release(self.native)

    cdef bint take(self, object returned) except -1:
        """Note the results; False where they are not arrays of the operands or allocations."""
        cdef Result result
        cdef list found = []
        if returned is None:
            self.results, self.alone = (), None
            return True
        if type(returned) is ARRAY:
            self.alone = True
        elif type(returned) is tuple:
            self.alone = False
        else:
            return False
        for array in (returned,) if self.alone else <tuple>returned:
            if type(array) is not ARRAY:
                return False
            result = self.result_of(<ArrayData>array)
            if result is None:
                return False
            found.append(result)
        self.results = tuple(found)
        return True

    cdef Result result_of(self, ArrayData array):
        cdef Result result = Result.__new__(Result)
        cdef ArrayData operand
        cdef cupola_extent extent
        cdef Py_ssize_t i
        result.shape, result.steps, result.dtype = array.shape, array.steps, array.dtype
        result.size, result.itemsize, result.nbytes = array.size, array.itemsize, array.nbytes
        result.kind, result.element = array.kind, array.element
        result.contiguous, result.direct = array.contiguous, array.direct
        result.readonly = array.readonly
        for i in range(self.form.count):
            operand = <ArrayData>self.form.operands[i]
            if operand is array or (
                array.memory is operand.memory and owner_of(array) is owner_of(operand)
            ):
                result.place, result.is_operand = i, operand is array
                result.offset = array.start - operand.start
                return result
        if array.memory is None:
            return None
        for i in range(<Py_ssize_t>cupola_work_allocations(self.native)):
            check(cupola_work_allocation(self.native, i, &extent))
            if extent.address == array.memory.address and extent.bytes == array.memory.nbytes:
                result.place, result.offset = self.form.count + i, array.start - extent.address
                return result
        return None


cdef class PlannedCalls:
    """The calls of one function.

    Parameters
    ----------
    function : callable
        It takes and returns arrays of one device. For arguments of one form it queues the same
        work: its other arguments are numbers, texts, types, None, slices, and tuples and lists of
        these.
    products : bool
        Whether a product that the function offers is all of its work.
    """

    cdef object function
    cdef bint products
    cdef dict plans  # by the words of a form: SEEN, REFUSED, a Plan or a GemmCall

    def __init__(self, function not None, bint products=False):
        self.function, self.products, self.plans = function, products, {}

    def __len__(self):
        """How many plans there are."""
        return sum([isinstance(plan, Plan) for plan in list(self.plans.values())])

    def call(self, tuple args not None, dict kwargs not None):
        """The result of the function."""
        cdef Form form
        if cupola_captures() or not describe(&form, args, kwargs, None):
            return self.function(*args, **kwargs)
        key = PyBytes_FromStringAndSize(<char*>form.words, form.used * sizeof(int64_t))
        plan = self.plans.get(key)
        if type(plan) is Plan:
            return run(<Plan>plan, &form)
        if type(plan) is GemmCall:
            return (<GemmCall>plan).again(
                <ArrayData>form.operands[0], <ArrayData>form.operands[form.count - 1])
        if plan is REFUSED:
            return self.function(*args, **kwargs)
        if plan is SEEN:
            return self.record(key, args, kwargs)
        if len(self.plans) >= MAX_PLANS:
            self.plans.clear()
        self.plans[key] = SEEN
        return self.function(*args, **kwargs)

    cdef object record(self, bytes key, tuple args, dict kwargs):
        """Call the function, and make a plan for the next calls."""
        cdef Work work = Work.__new__(Work), other
        cdef list held = []
        cdef ArrayData first
        cdef Stream queue
        describe(&work.form, args, kwargs, held)
        first = <ArrayData>work.form.operands[0]
        queue = current_stream(first.device_index)
        check(cupola_work_begin(queue.native, False, &work.native))
        if work.native == NULL:  # the next call tries again
            return self.function(*args, **kwargs)
        OFFERS.product, OFFERS.wanted = None, self.products and len(args) >= 2
        try:
            returned = self.function(*args, **kwargs)
        finally:
            cupola_work_end(work.native)
            offer, OFFERS.product, OFFERS.wanted = OFFERS.product, None, False
        plan = REFUSED
        if offer is not None:
            if offer[1] is args[0] and offer[2] is args[1]:
                plan = offer[0]
        elif cupola_work_usable(work.native) and work.take(returned):
            try:
                other = self.repeated(work, args, kwargs, queue)
                plan = planned(work, other, tuple(held))
            except Exception:  # such as too little memory: the call itself was right
                plan = REFUSED
        self.plans[key] = REFUSED if plan is None else plan
        return returned

    cdef Work repeated(self, Work work, tuple args, dict kwargs, Stream queue):
        """The work of the same call with other memory, recorded and not sent to the device."""
        cdef Work other = Work.__new__(Work)
        cdef dict beside = {}
        cdef tuple given
        cdef dict named
        cdef Py_ssize_t i
        for i in range(work.form.count):
            array = <object>work.form.operands[i]
            beside[id(array)] = stand_in(<ArrayData>array, &work.form.extents[i], queue)
        given = replaced(args, beside)
        named = {name: replaced(value, beside) for name, value in kwargs.items()}
        if not describe(&other.form, given, named, None):
            return None
        if other.form.used != work.form.used:
            return None
        check(cupola_work_begin(queue.native, True, &other.native))
        if other.native == NULL:
            return None
        try:
            returned = self.function(*given, **named)
        finally:
            cupola_work_end(other.native)
        # The form has addresses of the arrays above.
        return other if other.take(returned) else None


cdef ArrayData stand_in(ArrayData x, const cupola_extent* extent, Stream queue):
    """An array of the same form in memory of its own."""
    cdef Memory memory = allocate(x.device_index, extent.bytes + 2 * ALIGNMENT, queue)
    cdef uint64_t low = memory.address + (-memory.address & (ALIGNMENT - 1))
    cdef ArrayData made = lay(
        x.shape, x.steps, x.dtype, memory, None,
        low + (extent.address & (ALIGNMENT - 1)) + (x.start - extent.address), x.device_index)
    made.readonly, made.element = x.readonly, x.element
    return made


cdef object replaced(object value, dict beside):
    """The argument with other arrays."""
    if type(value) is ARRAY:
        return beside[id(value)]
    if type(value) is tuple or type(value) is list:
        return type(value)([replaced(item, beside) for item in value])
    return value


cdef Plan planned(Work work, Work other, tuple held):
    """The plan of two records; None where they differ in more than addresses."""
    cdef Plan plan
    cdef Py_ssize_t i, allocations
    cdef cupola_extent extent
    cdef cupola_work_plan* native = NULL
    if other is None or work.alone is not other.alone or len(work.results) != len(other.results):
        return None
    for i in range(len(work.results)):
        if not (<Result>work.results[i]).is_like(<Result>other.results[i]):
            return None
    allocations = cupola_work_allocations(work.native)
    if work.form.count + allocations > MAX_PLACES:
        return None
    check(cupola_work_plan_create(
        work.native, other.native, work.form.extents, other.form.extents, work.form.count,
        &native))
    if native == NULL:
        return None
    plan = Plan.__new__(Plan)
    plan.native, plan.held = native, held
    plan.operands, plan.places = work.form.count, work.form.count + allocations
    for i in range(allocations):
        check(cupola_work_allocation(work.native, i, &extent))
        plan.sizes[plan.operands + i] = extent.bytes
    plan.results, plan.alone = work.results, work.alone
    return plan


cdef object run(Plan plan, Form* form):
    """Queue the planned work on the current stream."""
    cdef uint64_t[MAX_PLACES] addresses
    cdef ArrayData x = <ArrayData>form.operands[0]
    cdef int device = x.device_index, status
    cdef Stream queue = current_stream(device)
    cdef Memory memory
    cdef list made = []
    cdef Py_ssize_t i
    for i in range(plan.operands):
        (<ArrayData>form.operands[i]).used_on(queue)
        addresses[i] = form.extents[i].address
    for i in range(plan.operands, plan.places):
        memory = allocate(device, plan.sizes[i], queue)
        made.append(memory)
        addresses[i] = memory.address
    status = cupola_work_plan_run(plan.native, addresses, plan.places, queue.native, True)
    if status == CUPOLA_WOULD_WAIT:
        note_line()
        with nogil:
            status = cupola_work_plan_run(
                plan.native, addresses, plan.places, queue.native, False)
        forget_line()
    check(status)
    if plan.alone is None:
        return None
    if plan.alone:
        return returned(<Result>plan.results[0], form, plan, made)
    return tuple([returned(<Result>one, form, plan, made) for one in plan.results])


cdef object returned(Result result, Form* form, Plan plan, list made):
    cdef type kind = ARRAY
    cdef ArrayData array, operand
    if result.place < plan.operands:
        operand = <ArrayData>form.operands[result.place]
        if result.is_operand:
            return operand
        array = <ArrayData>kind.__new__(kind)
        array.memory, array.owner = operand.memory, owner_of(operand)
        array.start = operand.start + result.offset
    else:
        array = <ArrayData>kind.__new__(kind)
        array.memory = made[result.place - plan.operands]
        array.start = array.memory.address + result.offset
    array.shape, array.steps, array.dtype = result.shape, result.steps, result.dtype
    array.size, array.itemsize, array.nbytes = result.size, result.itemsize, result.nbytes
    array.kind, array.element = result.kind, result.element
    array.contiguous, array.direct = result.contiguous, result.direct
    array.readonly, array.live = result.readonly, True
    array.device_index = (<ArrayData>form.operands[0]).device_index
    return array


def refuse_plan():
    """Mark the call that this thread records: it queues work that cupola's records lack."""
    cupola_work_refuse()


def offer_product(GemmCall product not None, x1 not None, x2 not None):
    """Tell the call that this thread records: its work is this product of its two arrays."""
    if getattr(OFFERS, "wanted", False):
        OFFERS.product = product, x1, x2


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
