// csrc/runtime/elementwise.cpp - operations on the elements of arrays: which kernel, and its
// launch.
//
// What lies in order and is of the type that is asked for goes to a flat kernel, 16 bytes at a
// time; all else is reduced to as few axes as it can be done with, for a strided one.
#include "cupola/elementwise.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/array/arguments.h"
#include "kernels/array/elements.h"
#include "kernels/array/operations.h"
#include "runtime/array_kernels.hpp"
#include "runtime/callback.hpp"
#include "runtime/half.hpp"
#include "runtime/stream.hpp"

namespace cupola {
namespace {

using arrays::Flat;
using arrays::Strided;

// Classes of operations, in the order of their numbers.
enum Class { arithmetic, predicate, function, classes };
constexpr int per_class = 256;

struct Row {
    const char* name;
    int number, kinds;
};

const Row* rows() {
    using namespace operations::kinds;
    static constexpr Row all[] = {
#define CUPOLA_ROW(name, kinds) \
    {#name, arithmetic * per_class + operations::arithmetic::name, kinds},
        CUPOLA_ARITHMETIC(CUPOLA_ROW)
#undef CUPOLA_ROW
#define CUPOLA_ROW(name, kinds) {#name, predicate * per_class + operations::predicate::name, kinds},
            CUPOLA_PREDICATES(CUPOLA_ROW)
#undef CUPOLA_ROW
#define CUPOLA_NUMBER(name) function* per_class + operations::function::name
#define CUPOLA_REAL(name) {#name, CUPOLA_NUMBER(name), reals},
#define CUPOLA_COMPLEX(name) {#name, CUPOLA_NUMBER(name), complexes},
#define CUPOLA_BOTH(name) {#name, CUPOLA_NUMBER(name), reals | complexes},
                CUPOLA_FUNCTIONS(CUPOLA_REAL, CUPOLA_COMPLEX, CUPOLA_BOTH)
#undef CUPOLA_NUMBER
#undef CUPOLA_REAL
#undef CUPOLA_COMPLEX
#undef CUPOLA_BOTH
                    {nullptr, 0, 0}};
    return all;
}

Class class_of(int operation) { return static_cast<Class>(operation / per_class); }

const Row* row_of(int operation) {
    for (const Row* row = rows(); row->name; ++row)
        if (row->number == operation) return row;
    return nullptr;
}

constexpr const char* element_names[] = {"none",
#define CUPOLA_ROW(name, code, computed) #name,
                                         CUPOLA_ELEMENTS(CUPOLA_ROW)
#undef CUPOLA_ROW
};
constexpr int element_sizes[] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 8, 16};

int kind_of(int element) {
    if (element >= elements::c64) return operations::kinds::complexes;
    return element >= elements::f16 ? operations::kinds::reals : operations::kinds::integers;
}

bool takes(const Row& row, int element) {
    return element > elements::none && element < elements::count && (row.kinds & kind_of(element));
}

void require_kernel(int operation, int element) {
    const Row* row = row_of(operation);
    if (row && takes(*row, element)) return;
    fail(CUPOLA_ERROR_TYPE,
         (row ? std::string(row->name) : "operation " + std::to_string(operation)) +
             " is not done in elements of type " +
             (element > 0 && element < elements::count ? element_names[element]
                                                       : std::to_string(element)));
}

// What the operation gives, done in a type.
int result_of(int operation, int element) {
    if (class_of(operation) == predicate) return elements::b8;
    if (operation == function * per_class + operations::function::absolute)
        return element == elements::c64 ? elements::f32 : elements::f64;
    return element;
}

// A kernel of one device: found once, held for good.
using Slot = std::atomic<Kernel*>;

template <class Name>
Kernel& kept(Slot& slot, Context& context, std::size_t parameter_bytes, Name name) {
    if (Kernel* kernel = slot.load(std::memory_order_acquire)) return *kernel;
    Kernel& kernel = array_kernel(context, name(), parameter_bytes);
    slot.store(&kernel, std::memory_order_release);
    return kernel;
}

// Of operations that share a kernel, by form, class and type.
Kernel& shared_kernel(Context& context, bool flat, Class which, int element) {
    static auto* const slots = new Slot[64][2][function][elements::count]();
    return kept(slots[context.ordinal][flat][which][element], context,
                flat ? sizeof(Flat) : sizeof(Strided), [&] {
                    return std::string(flat ? "" : "strided_") +
                           (which == arithmetic ? "arithmetic_" : "predicate_") +
                           element_names[element];
                });
}

// Of one function and the type that it is computed in.
Kernel& function_kernel(Context& context, int operation, int element) {
    static auto* const slots = new Slot[64][operations::function::count][elements::count]();
    return kept(
        slots[context.ordinal][operation % per_class][element], context, sizeof(Strided),
        [&] { return row_of(operation)->name + ("_" + std::string(element_names[element])); });
}

// The bits of the type that is computed in. A float16 is rounded to, as NumPy has it.
void put_scalar(unsigned long long (&bits)[2], int element, const cupola_scalar& scalar) {
    const auto single = [](double value) {
        const auto narrow = static_cast<float>(value);
        std::uint32_t word = 0;
        std::memcpy(&word, &narrow, sizeof word);
        return std::uint64_t{word};
    };
    switch (element) {
        case elements::f16:
            bits[0] = single(from_float16(to_float16(scalar.parts[0])));
            break;
        case elements::f32:
            bits[0] = single(scalar.parts[0]);
            break;
        case elements::c64:
            bits[0] = single(scalar.parts[0]) | single(scalar.parts[1]) << 32;
            break;
        case elements::c128:
            std::memcpy(bits, scalar.parts, sizeof scalar.parts);
            break;
        default:  // float64 and integers
            std::memcpy(bits, &scalar, sizeof bits[0]);
    }
}

constexpr unsigned threads = 256;  // a block: full occupancy on every architecture shipped for

cupola_dimensions cover(std::uint64_t threads_wanted) {
    constexpr std::uint64_t most = 0x7fffffff;  // of every device, along x
    const std::uint64_t blocks = (threads_wanted + threads - 1) / threads;
    return {{static_cast<std::uint32_t>(std::min(blocks, most)), 1, 1}, {threads, 1, 1}, 0};
}

// Whether the launch may have to wait for something: see cupola_launch_at_once().
bool may_wait(const Kernel& kernel, Stream& stream) {
    return !kernel.launched() || driver().synchronous || Flight::is_traced() ||
           Callback::pending.load(std::memory_order_relaxed) || !stream.flight.has_room();
}

bool launch_flat(int operation, int element, Flat& arguments, Stream& stream, bool at_once) {
    Kernel& kernel = shared_kernel(stream.context, true, class_of(operation), element);
    if (at_once && may_wait(kernel, stream)) return false;
    arguments.operation = operation % per_class;
    const unsigned a_thread = 16 / element_sizes[element];
    kernel.launch(cover((arguments.count + a_thread - 1) / a_thread), nullptr, &arguments, stream);
    return true;
}

struct Axis {
    std::uint64_t length;
    std::int64_t out, x, y;
};

// What is to be done, with the axes from the outermost on.
struct Box {
    std::uint64_t out, x, y;
    std::vector<Axis> axes;

    std::uint64_t count() const {
        std::uint64_t all = 1;
        for (const Axis& axis : axes) all *= axis.length;
        return all;
    }
};

void require_reach(std::int64_t stride, std::uint64_t length) {
    constexpr std::int64_t most = std::int64_t{1} << 60;
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(stride, length, &reach) || reach > most || reach < -most)
        fail(CUPOLA_ERROR_VALUE, "a stride of " + std::to_string(stride) + " bytes over " +
                                     std::to_string(length) + " elements is beyond any memory");
}

// False: there is nothing to do.
bool reduce(Box& box, const cupola_operand& out, const cupola_operand& x, const cupola_operand& y,
            const std::int64_t* shape, int ndim) {
    for (int i = 0; i < ndim; ++i) {
        if (shape[i] < 0) fail(CUPOLA_ERROR_VALUE, "a shape has a negative size");
        if (shape[i] == 0) return false;
        if (shape[i] == 1) continue;
        const auto stride = [i](const cupola_operand& operand) {
            return operand.element == elements::none ? 0 : operand.strides[i];
        };
        Axis axis{static_cast<std::uint64_t>(shape[i]), stride(out), stride(x), stride(y)};
        if (axis.out == 0) fail(CUPOLA_ERROR_VALUE, "the results lie over each other");
        for (std::int64_t step : {axis.out, axis.x, axis.y}) require_reach(step, axis.length);
        if (axis.out < 0) {  // from the other end
            const auto last = static_cast<std::int64_t>(axis.length - 1);
            box.out += static_cast<std::uint64_t>(axis.out * last);
            box.x += static_cast<std::uint64_t>(axis.x * last);
            box.y += static_cast<std::uint64_t>(axis.y * last);
            axis = {axis.length, -axis.out, -axis.x, -axis.y};
        }
        box.axes.push_back(axis);
    }
    std::stable_sort(box.axes.begin(), box.axes.end(),
                     [](const Axis& a, const Axis& b) { return a.out > b.out; });
    // An axis whose elements are as far apart as the whole of the next one is a part of it.
    std::vector<Axis> merged;
    for (auto axis = box.axes.rbegin(); axis != box.axes.rend(); ++axis) {
        if (!merged.empty()) {
            Axis& inner = merged.back();
            const auto length = static_cast<std::int64_t>(inner.length);
            if (axis->out == inner.out * length && axis->x == inner.x * length &&
                axis->y == inner.y * length) {
                inner.length *= axis->length;
                continue;
            }
        }
        merged.push_back(*axis);
    }
    box.axes.assign(merged.rbegin(), merged.rend());
    return true;
}

arrays::Divisor divisor(std::uint64_t length) {
    const auto by = static_cast<unsigned>(length);
    unsigned shift = 0;
    while ((std::uint64_t{1} << shift) < by) ++shift;
    const std::uint64_t factor =
        ((std::uint64_t{1} << 32) * ((std::uint64_t{1} << shift) - by)) / by + 1;
    return {by, static_cast<unsigned>(factor), shift};
}

// `box` is small enough.
void launch_strided(int operation, int element, const Box& box, Strided& arguments,
                    Stream& stream) {
    arguments.axes = static_cast<int>(box.axes.size());
    arguments.count = box.count();
    arguments.out.address = box.out;
    arguments.x.address = box.x;
    arguments.y.address = box.y;
    for (std::size_t i = 0; i < box.axes.size(); ++i) {
        const Axis& axis = box.axes[box.axes.size() - 1 - i];
        arguments.lengths[i] = divisor(axis.length);
        arguments.out.strides[i] = axis.out;
        arguments.x.strides[i] = axis.x;
        arguments.y.strides[i] = axis.y;
    }
    if (box.axes.empty()) {  // one element: no axes are another form to functions
        arguments.axes = 1;
        arguments.lengths[0] = divisor(1);
    }
    const Class which = class_of(operation);
    const int computed = elements::computed_in(element);
    Kernel& kernel = which == function ? function_kernel(stream.context, operation, computed)
                                       : shared_kernel(stream.context, false, which, computed);
    kernel.launch(cover(arguments.count), nullptr, &arguments, stream);
}

// The kernel takes so many axes and elements; of more the outermost axis is walked or halved here.
void launch_any(int operation, int element, Box box, Strided& arguments, Stream& stream) {
    constexpr std::uint64_t most = std::uint64_t{1} << 31;
    if (box.axes.size() <= arrays::most_axes && box.count() < most)
        return launch_strided(operation, element, box, arguments, stream);
    Axis& outer = box.axes.front();
    const auto move_on = [&](std::uint64_t by) {
        const auto steps = static_cast<std::int64_t>(by);
        box.out += static_cast<std::uint64_t>(outer.out * steps);
        box.x += static_cast<std::uint64_t>(outer.x * steps);
        box.y += static_cast<std::uint64_t>(outer.y * steps);
    };
    if (box.axes.size() > arrays::most_axes) {
        Box inner = box;
        inner.axes.erase(inner.axes.begin());
        for (std::uint64_t i = 0; i < outer.length; ++i) {
            inner.out = box.out, inner.x = box.x, inner.y = box.y;
            launch_any(operation, element, inner, arguments, stream);
            move_on(1);
        }
        return;
    }
    const std::uint64_t half = outer.length / 2, rest = outer.length - half;
    if (half == 0) {
        box.axes.erase(box.axes.begin());
        return launch_any(operation, element, box, arguments, stream);
    }
    outer.length = half;
    launch_any(operation, element, box, arguments, stream);
    move_on(half);
    outer.length = rest;
    launch_any(operation, element, box, arguments, stream);
}

// All elements in a row, and of the type that the operation is done in.
bool is_flat(const Box& box, int operation, int element, const cupola_operand& out,
             const cupola_operand& x, const cupola_operand& y) {
    if (box.axes.size() > 1 || out.element != result_of(operation, element)) return false;
    if (x.element == elements::none && y.element == elements::none) return false;
    for (const cupola_operand* operand : {&x, &y})
        if (operand->element != elements::none && operand->element != element) return false;
    if (box.axes.empty()) return true;
    const Axis& axis = box.axes[0];
    const auto in_order = [](const cupola_operand& operand, std::int64_t step) {
        return operand.element == elements::none || step == element_sizes[operand.element];
    };
    return in_order(out, axis.out) && in_order(x, axis.x) && in_order(y, axis.y);
}

// Functions have one kernel for both forms; `element` is stored as it is computed in.
bool launch_flat_function(int operation, int element, Strided& arguments, Stream& stream,
                          bool at_once) {
    Kernel& kernel = function_kernel(stream.context, operation, element);
    if (at_once && may_wait(kernel, stream)) return false;
    const unsigned a_thread = 16 / element_sizes[element];
    kernel.launch(cover((arguments.count + a_thread - 1) / a_thread), nullptr, &arguments, stream);
    return true;
}

bool is_flat_function(int element, std::uint64_t out, std::uint64_t x, std::uint64_t y) {
    return element != elements::f16 && (out | x | y) % 16 == 0;
}

void elementwise(int operation, int element, const cupola_operand& out, const cupola_operand& x,
                 const cupola_operand& y, const cupola_scalar& scalar, const std::int64_t* shape,
                 int ndim, Stream& stream) {
    Box box{out.address, x.address, y.address, {}};
    if (!reduce(box, out, x, y, shape, ndim)) return;
    const bool flat = is_flat(box, operation, element, out, x, y);
    if (flat && class_of(operation) != function) {
        const int form = x.element == elements::none   ? arrays::first_scalar
                         : y.element == elements::none ? arrays::second_scalar
                                                       : arrays::both_arrays;
        Flat arguments{box.out, box.x, box.y, box.count(), {}, 0, form};
        put_scalar(arguments.scalar, element, scalar);
        launch_flat(operation, element, arguments, stream, false);
        return;
    }
    Strided arguments{};
    put_scalar(arguments.scalar, element, scalar);
    arguments.operation = operation % per_class;
    arguments.out = {box.out, {}, out.element};
    arguments.x = {box.x, {}, x.element};
    arguments.y = {box.y, {}, y.element};
    if (flat && is_flat_function(element, box.out, box.x, box.y)) {
        arguments.count = box.count();
        launch_flat_function(operation, element, arguments, stream, false);
    } else {
        launch_any(operation, element, box, arguments, stream);
    }
}

// Functions load their own type alone, and float16 where that is float32.
void require_operand(int operation, int element, const cupola_operand& operand, const char* name) {
    if (class_of(operation) == function && operand.element != elements::none &&
        operand.element != element)
        fail(CUPOLA_ERROR_TYPE, std::string(name) + " is of " + element_names[operand.element] +
                                    ", the function is done in " + element_names[element] +
                                    ": cast it before");
}

void require_element(const cupola_operand& operand, const char* name) {
    if (operand.element < 0 || operand.element >= elements::count)
        fail(CUPOLA_ERROR_TYPE,
             std::string(name) + " has no element type " + std::to_string(operand.element));
}

}  // namespace
}  // namespace cupola

using namespace cupola;

int cupola_operation(const char* name, int element) {
    if (name)
        for (const Row* row = rows(); row->name; ++row)
            if (std::strcmp(row->name, name) == 0 && takes(*row, element)) return row->number;
    return -1;
}

int cupola_operation_result(int operation, int element) {
    const Row* row = row_of(operation);
    return row && takes(*row, element) ? result_of(operation, element) : elements::none;
}

int cupola_operation_is_function(int operation) { return class_of(operation) == function; }

const char* cupola_operation_name(int index) {
    const Row* row = rows();
    for (int i = 0; i < index && row->name; ++i) ++row;
    return row->name;
}

int cupola_elementwise_flat(int operation, int element, uint64_t out, uint64_t x, uint64_t y,
                            const cupola_scalar* scalar, size_t count, cupola_stream* stream,
                            int at_once) {
    bool done = true;
    const int status = guard([&] {
        if (__builtin_expect(operation < 0 || operation / per_class >= classes, 0) ||
            __builtin_expect(element <= 0 || element >= elements::count, 0))
            require_kernel(operation, element);
        driver();  // a forked child must not get further
        Stream& s = *unwrap(required(stream, "stream"));
        if (count == 0) return;
        if (class_of(operation) != function) {
            Flat arguments{out,
                           x,
                           y,
                           count,
                           {},
                           0,
                           !x   ? arrays::first_scalar
                           : !y ? arrays::second_scalar
                                : arrays::both_arrays};
            if (scalar) put_scalar(arguments.scalar, element, *scalar);
            done = launch_flat(operation, element, arguments, s, at_once);
            return;
        }
        if (is_flat_function(element, out, x, y)) {
            Strided arguments{};
            arguments.count = count;
            if (scalar) put_scalar(arguments.scalar, element, *scalar);
            arguments.out = {out, {}, result_of(operation, element)};
            arguments.x = {x, {}, x ? element : elements::none};
            arguments.y = {y, {}, y ? element : elements::none};
            done = launch_flat_function(operation, element, arguments, s, at_once);
            return;
        }
        done = !at_once;
        if (at_once) return;
        const auto shape = static_cast<std::int64_t>(count);
        const int result = result_of(operation, element);
        const std::int64_t step = element_sizes[element], out_step = element_sizes[result];
        const cupola_scalar zero{};
        elementwise(
            operation, element, {out, &out_step, result}, {x, &step, x ? element : elements::none},
            {y, &step, y ? element : elements::none}, scalar ? *scalar : zero, &shape, 1, s);
    });
    return done ? status : CUPOLA_WOULD_WAIT;
}

int cupola_elementwise(int operation, int element, const cupola_operand* out,
                       const cupola_operand* x, const cupola_operand* y,
                       const cupola_scalar* scalar, const int64_t* shape, int ndim,
                       cupola_stream* stream) {
    return guard([&] {
        require_kernel(operation, element);
        if (ndim > 0) required(shape, "shape");
        driver();
        require_element(*required(out, "out"), "out");
        require_element(*required(x, "x"), "x");
        require_element(*required(y, "y"), "y");
        require_operand(operation, element, *x, "x");
        require_operand(operation, element, *y, "y");
        require_operand(operation, result_of(operation, element), *out, "out");
        const cupola_scalar zero{};
        elementwise(operation, element, *out, *x, *y, scalar ? *scalar : zero, shape, ndim,
                    *unwrap(required(stream, "stream")));
    });
}
