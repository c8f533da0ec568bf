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
enum Class { arithmetic, predicate, classes };
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
                {nullptr, 0, 0}};
    return all;
}

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

bool takes(int operation, int element) {
    const Row* row = row_of(operation);
    return row && element > elements::none && element < elements::count &&
           (row->kinds & kind_of(element));
}

void require_kernel(int operation, int element) {
    if (takes(operation, element)) return;
    const Row* row = row_of(operation);
    fail(CUPOLA_ERROR_TYPE,
         (row ? std::string(row->name) : "operation " + std::to_string(operation)) +
             " is not done in elements of type " +
             (element > 0 && element < elements::count ? element_names[element]
                                                       : std::to_string(element)));
}

// Held for good, one a device, form, class and type.
Kernel& kernel_of(Context& context, bool flat, int which, int element) {
    static auto* const found = new std::atomic<Kernel*>[64][2][classes][elements::count]();
    auto& slot = found[context.ordinal][flat][which][element];
    if (Kernel* kernel = slot.load(std::memory_order_acquire)) return *kernel;
    constexpr const char* names[] = {"arithmetic_", "predicate_"};
    Kernel& kernel = array_kernel(
        context, (flat ? "" : "strided_") + std::string(names[which]) + element_names[element],
        flat ? sizeof(Flat) : sizeof(Strided));
    slot.store(&kernel, std::memory_order_release);
    return kernel;
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
    const int which = operation / per_class;
    Kernel& kernel = kernel_of(stream.context, true, which, element);
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

void launch_strided(int operation, int element, const Box& box, Strided& arguments,
                    Stream& stream) {
    arguments.operation = operation % per_class;
    arguments.axes = static_cast<int>(box.axes.size());
    arguments.count = 1;
    arguments.out.address = box.out;
    arguments.x.address = box.x;
    arguments.y.address = box.y;
    for (const Axis& axis : box.axes) arguments.count *= axis.length;
    for (std::size_t i = 0; i < box.axes.size(); ++i) {
        const Axis& axis = box.axes[box.axes.size() - 1 - i];
        arguments.lengths[i] = axis.length;
        if (arguments.count < std::uint64_t{1} << 31) arguments.divisors[i] = divisor(axis.length);
        arguments.out.strides[i] = axis.out;
        arguments.x.strides[i] = axis.x;
        arguments.y.strides[i] = axis.y;
    }
    Kernel& kernel =
        kernel_of(stream.context, false, operation / per_class, elements::computed_in(element));
    kernel.launch(cover(arguments.count), nullptr, &arguments, stream);
}

// The kernel takes so many axes; the outermost of more are walked here.
void launch_any(int operation, int element, Box box, Strided& arguments, Stream& stream) {
    if (box.axes.size() <= arrays::most_axes)
        return launch_strided(operation, element, box, arguments, stream);
    const Axis outer = box.axes.front();
    box.axes.erase(box.axes.begin());
    for (std::uint64_t i = 0; i < outer.length; ++i) {
        launch_any(operation, element, box, arguments, stream);
        box.out += static_cast<std::uint64_t>(outer.out);
        box.x += static_cast<std::uint64_t>(outer.x);
        box.y += static_cast<std::uint64_t>(outer.y);
    }
}

// All elements in a row, and of the type that the operation is done in.
bool is_flat(const Box& box, int operation, int element, const cupola_operand& out,
             const cupola_operand& x, const cupola_operand& y) {
    const int result = operation / per_class == predicate ? elements::b8 : element;
    if (box.axes.size() > 1 || out.element != result) return false;
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

void elementwise(int operation, int element, const cupola_operand& out, const cupola_operand& x,
                 const cupola_operand& y, const cupola_scalar& scalar, const std::int64_t* shape,
                 int ndim, Stream& stream) {
    Box box{out.address, x.address, y.address, {}};
    if (!reduce(box, out, x, y, shape, ndim)) return;
    if (is_flat(box, operation, element, out, x, y)) {
        const int form = x.element == elements::none   ? arrays::first_scalar
                         : y.element == elements::none ? arrays::second_scalar
                                                       : arrays::both_arrays;
        Flat arguments{box.out, box.x, box.y, box.axes.empty() ? 1 : box.axes[0].length,
                       {},      0,     form};
        put_scalar(arguments.scalar, element, scalar);
        launch_flat(operation, element, arguments, stream, false);
        return;
    }
    Strided arguments{};
    put_scalar(arguments.scalar, element, scalar);
    arguments.out.element = out.element;
    arguments.x.element = x.element;
    arguments.y.element = y.element;
    launch_any(operation, element, box, arguments, stream);
}

void require_element(const cupola_operand& operand, const char* name) {
    if (operand.element < 0 || operand.element >= elements::count)
        fail(CUPOLA_ERROR_TYPE,
             std::string(name) + " has no element type " + std::to_string(operand.element));
}

}  // namespace
}  // namespace cupola

using namespace cupola;

int cupola_operation(const char* name) {
    if (name)
        for (const Row* row = rows(); row->name; ++row)
            if (std::strcmp(row->name, name) == 0) return row->number;
    return -1;
}

int cupola_operation_is_predicate(int operation) { return operation / per_class == predicate; }

const char* cupola_operation_name(int index) {
    const Row* row = rows();
    for (int i = 0; i < index && row->name; ++i) ++row;
    return row->name;
}

int cupola_operation_takes(int operation, int element) { return takes(operation, element); }

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
        const cupola_scalar zero{};
        elementwise(operation, element, *out, *x, *y, scalar ? *scalar : zero, shape, ndim,
                    *unwrap(required(stream, "stream")));
    });
}
