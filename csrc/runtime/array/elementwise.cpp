// csrc/runtime/array/elementwise.cpp - chooses and launches the kernels of elementwise operations.
//
// First, axes are merged into as few as possible. Contiguous operands of the computed type then go
// to a flat kernel, which moves 16 bytes at a time. Others go to a strided kernel if all have that
// type and the axes are few, else to a mixed kernel.
#include "runtime/array/elementwise.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/array/operation.hpp"
#include "runtime/base/half.hpp"
#include "runtime/context/stream.hpp"
#include "runtime/copy/loop_nest.hpp"
#include "runtime/launch/launch.hpp"

namespace cupola {
namespace {

using arrays::Flat;
using arrays::Mixed;
using arrays::Strided;

// The scalar's bits in the computed type. The value is rounded to float16 first, as in NumPy.
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

arrays::Operand operand_at(unsigned long long address, int element) {
    return {address, {}, element, element_sizes[element]};
}

// The dimensions of a launch that covers all elements; a thread handles `a_thread` elements. Memory
// is too small for the number of blocks to overflow.
cupola_dimensions cover(std::uint64_t count, unsigned a_thread) {
    const std::uint64_t a_block = std::uint64_t{arrays::threads} * a_thread;
    return {{static_cast<std::uint32_t>((count + a_block - 1) / a_block), 1, 1},
            {arrays::threads, 1, 1},
            0};
}

bool launch_flat(int operation, int element, Flat& arguments, Stream& stream, bool no_wait) {
    Kernel* const kernel =
        shared_kernel(stream.context, Form::flat, class_of(operation), element, no_wait);
    if (no_wait && (!kernel || launch_may_wait(*kernel, stream))) return false;
    arguments.operation = operation % per_class;
    const auto size = static_cast<unsigned>(element_sizes[element]);
    const bool single =
        class_of(operation) == predicate && predicate_operands[arguments.operation] == 1;
    if (single) arguments.form = arrays::one_operand;
    const auto result = static_cast<unsigned>(element_sizes[result_of(operation, element)]);
    const unsigned a_thread = arrays::flat_pack(size) * arrays::flat_packs(single, size, result);
    kernel->launch(cover(arguments.count, a_thread), nullptr, &arguments, stream);
    return true;
}

unsigned function_at_once(int computed) {
    const bool is_complex = computed == elements::c64 || computed == elements::c128;
    return arrays::function_at_once(static_cast<unsigned>(element_sizes[computed]), is_complex);
}

// Whether the operation casts elements that a cast kernel takes.
bool is_cast(int operation, int computed, const Mixed& arguments) {
    const auto small = [](int bytes) { return bytes > 0 && bytes <= arrays::cast_bytes; };
    return operation == arithmetic * per_class + operations::arithmetic::positive &&
           element_sizes[computed] <= arrays::cast_bytes && small(arguments.x.size) &&
           small(arguments.out.size);
}

// The caller has checked that the axes fit the kernel.
void launch_mixed(int operation, int element, const LoopNest& axes, Mixed& arguments,
                  Stream& stream) {
    arguments.axes = static_cast<int>(axes.list.size());
    arguments.count = axes.count();
    arguments.out.address = axes.out;
    arguments.x.address = axes.x;
    arguments.y.address = axes.y;
    for (std::size_t i = 0; i < axes.list.size(); ++i) {
        const OperandAxis& axis = axes.list[axes.list.size() - 1 - i];
        arguments.lengths[i] = divisor(axis.length);
        arguments.out.strides[i] = axis.out;
        arguments.x.strides[i] = axis.x;
        arguments.y.strides[i] = axis.y;
    }
    const auto is_short = [](const OperandAxis& axis) {
        const auto fits = [](std::int64_t step) { return step == static_cast<int>(step); };
        return fits(axis.out) && fits(axis.x) && fits(axis.y);
    };
    arguments.is_line = axes.list.size() == 1 && is_short(axes.list[0]);
    if (axes.list.empty()) {  // a single element: the kernels expect one axis
        arguments.axes = 1;
        arguments.lengths[0] = divisor(1);
    }
    const Class which = class_of(operation);
    const int computed = elements::computed_in(element);
    const unsigned a_thread = which == function
                                  ? function_at_once(computed)
                                  : static_cast<unsigned>(arrays::mixed_at_once(
                                        static_cast<unsigned>(element_sizes[computed])));
    const auto packs = [](const arrays::Operand& operand, unsigned at_once) {
        const unsigned bytes = static_cast<unsigned>(operand.size) * at_once;
        return bytes == 0 || (operand.strides[0] == operand.size && bytes <= arrays::mixed_pack &&
                              operand.address % std::min(bytes, 16u) == 0);
    };
    const auto all_pack = [&](unsigned at_once) {
        return arguments.is_line && packs(arguments.out, at_once) && packs(arguments.x, at_once) &&
               packs(arguments.y, at_once);
    };
    arguments.is_packed = all_pack(a_thread);
    if (is_cast(operation, computed, arguments) && all_pack(arrays::cast_at_once)) {
        cast_kernel(stream.context, computed)
            ->launch(cover(arguments.count, arrays::cast_at_once), nullptr, &arguments, stream);
        return;
    }
    Kernel* const kernel = which == function
                               ? function_kernel(stream.context, operation, computed)
                               : shared_kernel(stream.context, Form::mixed, which, computed);
    kernel->launch(cover(arguments.count, a_thread), nullptr, &arguments, stream);
}

// Launches the strided kernel. Returns false for operations, types, axes or strides that it cannot
// take.
bool launch_strided(int operation, int element, const LoopNest& axes, const Mixed& like,
                    Stream& stream) {
    const auto own = [element](int other) { return other == element || other == elements::none; };
    if (class_of(operation) == function || axes.list.size() > arrays::few_axes ||
        !own(like.x.element) || !own(like.y.element) ||
        like.out.element != result_of(operation, element) ||
        (like.x.element == elements::none && like.y.element == elements::none))
        return false;
    Strided arguments{};
    for (std::size_t i = 0; i < axes.list.size(); ++i) {
        const OperandAxis& axis = axes.list[axes.list.size() - 1 - i];
        arguments.lengths[i] = divisor(axis.length);
        arguments.out_steps[i] = static_cast<int>(axis.out);
        arguments.x_steps[i] = static_cast<int>(axis.x);
        arguments.y_steps[i] = static_cast<int>(axis.y);
        if (arguments.out_steps[i] != axis.out || arguments.x_steps[i] != axis.x ||
            arguments.y_steps[i] != axis.y)
            return false;
    }
    arguments.out = axes.out;
    arguments.x = axes.x;
    arguments.y = axes.y;
    std::memcpy(arguments.scalar, like.scalar, sizeof arguments.scalar);
    arguments.count = static_cast<unsigned>(axes.count());
    arguments.operation = like.operation;
    arguments.form = like.x.element == elements::none   ? arrays::first_scalar
                     : like.y.element == elements::none ? arrays::second_scalar
                                                        : arrays::both_arrays;
    arguments.axes = static_cast<int>(axes.list.size());
    constexpr unsigned a_thread = arrays::strided_at_once;
    shared_kernel(stream.context, Form::strided, class_of(operation), element)
        ->launch(cover(arguments.count, a_thread), nullptr, &arguments, stream);
    return true;
}

// Kernels take a limited number of axes and elements. If there are too many axes, this loops over
// the outermost one; if there are too many elements, it halves that axis.
void launch_any(int operation, int element, LoopNest axes, Mixed& arguments, Stream& stream) {
    constexpr std::uint64_t most = std::uint64_t{1} << 31;
    if (axes.list.size() <= arrays::most_axes && axes.count() < most) {
        if (!launch_strided(operation, element, axes, arguments, stream))
            launch_mixed(operation, element, axes, arguments, stream);
        return;
    }
    OperandAxis& outer = axes.list.front();
    const auto move_on = [&](std::uint64_t by) {
        const auto steps = static_cast<std::int64_t>(by);
        axes.out += static_cast<std::uint64_t>(outer.out * steps);
        axes.x += static_cast<std::uint64_t>(outer.x * steps);
        axes.y += static_cast<std::uint64_t>(outer.y * steps);
    };
    if (axes.list.size() > arrays::most_axes) {
        LoopNest inner = axes;
        inner.list.erase(inner.list.begin());
        for (std::uint64_t i = 0; i < outer.length; ++i) {
            inner.out = axes.out, inner.x = axes.x, inner.y = axes.y;
            launch_any(operation, element, inner, arguments, stream);
            move_on(1);
        }
        return;
    }
    const std::uint64_t half = outer.length / 2, rest = outer.length - half;
    if (half == 0) {
        axes.list.erase(axes.list.begin());
        return launch_any(operation, element, axes, arguments, stream);
    }
    outer.length = half;
    launch_any(operation, element, axes, arguments, stream);
    move_on(half);
    outer.length = rest;
    launch_any(operation, element, axes, arguments, stream);
}

// Whether all operands are contiguous and of the computed type.
bool is_flat(const LoopNest& axes, int operation, int element, const cupola_operand& out,
             const cupola_operand& x, const cupola_operand& y) {
    if (axes.list.size() > 1 || out.element != result_of(operation, element)) return false;
    if (x.element == elements::none && y.element == elements::none) return false;
    for (const cupola_operand* operand : {&x, &y})
        if (operand->element != elements::none && operand->element != element) return false;
    if (axes.list.empty()) return true;
    const OperandAxis& axis = axes.list[0];
    const auto in_order = [](const cupola_operand& operand, std::int64_t step) {
        return operand.element == elements::none || step == element_sizes[operand.element];
    };
    return in_order(out, axis.out) && in_order(x, axis.x) && in_order(y, axis.y);
}

// Functions have one kernel for the flat and mixed forms. `element` is the type of the operands and
// of the computation.
bool launch_flat_function(int operation, int element, Mixed& arguments, Stream& stream,
                          bool no_wait) {
    Kernel* const kernel = function_kernel(stream.context, operation, element, no_wait);
    if (no_wait && (!kernel || launch_may_wait(*kernel, stream))) return false;
    const unsigned a_thread = function_at_once(element);
    kernel->launch(cover(arguments.count, a_thread), nullptr, &arguments, stream);
    return true;
}

// Whether contiguous elements are aligned for the flat kernels' vector loads and stores.
bool is_aligned(int operation, int element, std::uint64_t out, std::uint64_t x, std::uint64_t y) {
    if (class_of(operation) == function) return element != elements::f16 && (out | x | y) % 16 == 0;
    const auto size = static_cast<unsigned>(element_sizes[element]);
    const auto result = static_cast<unsigned>(element_sizes[result_of(operation, element)]);
    return (x | y) % 16 == 0 && out % (arrays::flat_pack(size) * result) == 0;
}

// Functions load only their own type, and float16 where that type is float32.
void require_operand(int operation, int element, const cupola_operand& operand, const char* name) {
    if (class_of(operation) == function && operand.element != elements::none &&
        operand.element != element)
        fail(CUPOLA_ERROR_TYPE, std::string(name) + " is of " + element_names[operand.element] +
                                    ", but the function computes in " + element_names[element] +
                                    ": cast it with astype() first");
}

void require_element(const cupola_operand& operand, const char* name) {
    if (operand.element < 0 || operand.element >= elements::count)
        fail(CUPOLA_ERROR_TYPE,
             std::string(name) + " has no element type " + std::to_string(operand.element));
}

}  // namespace

void elementwise(int operation, int element, const cupola_operand& out, const cupola_operand& x,
                 const cupola_operand& y, const cupola_scalar& scalar, const std::int64_t* shape,
                 int ndim, Stream& stream) {
    LoopNest axes{out.address, x.address, y.address, {}};
    if (!normalize_axes(axes, out, x, y, shape, ndim)) return;
    const bool flat = is_flat(axes, operation, element, out, x, y) &&
                      is_aligned(operation, element, axes.out, axes.x, axes.y);
    if (flat && class_of(operation) != function) {
        const int form = x.element == elements::none   ? arrays::first_scalar
                         : y.element == elements::none ? arrays::second_scalar
                                                       : arrays::both_arrays;
        Flat arguments{axes.out, axes.x, axes.y, axes.count(), {}, 0, form};
        put_scalar(arguments.scalar, element, scalar);
        launch_flat(operation, element, arguments, stream, false);
        return;
    }
    Mixed arguments{};
    put_scalar(arguments.scalar, element, scalar);
    arguments.operation = operation % per_class;
    arguments.out = operand_at(axes.out, out.element);
    arguments.x = operand_at(axes.x, x.element);
    arguments.y = operand_at(axes.y, y.element);
    if (flat) {
        arguments.count = axes.count();
        launch_flat_function(operation, element, arguments, stream, false);
        return;
    }
    for (const LoopNest& part : tiled(axes, arrays::few_axes))
        launch_any(operation, element, part, arguments, stream);
}

void require_operands(int operation, int element, const cupola_operand& out,
                      const cupola_operand& x, const cupola_operand& y) {
    require_kernel(operation, element);
    require_element(out, "out");
    require_element(x, "x");
    require_element(y, "y");
    require_operand(operation, element, x, "x");
    require_operand(operation, element, y, "y");
    require_operand(operation, result_of(operation, element), out, "out");
}

bool elementwise_flat(int operation, int element, std::uint64_t out, std::uint64_t x,
                      std::uint64_t y, const cupola_scalar* scalar, std::size_t count,
                      Stream& stream, bool no_wait) {
    const bool aligned = is_aligned(operation, element, out, x, y);
    if (aligned && class_of(operation) != function) {
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
        return launch_flat(operation, element, arguments, stream, no_wait);
    }
    if (aligned) {
        Mixed arguments{};
        arguments.count = count;
        if (scalar) put_scalar(arguments.scalar, element, *scalar);
        arguments.out = operand_at(out, result_of(operation, element));
        arguments.x = operand_at(x, x ? element : elements::none);
        arguments.y = operand_at(y, y ? element : elements::none);
        return launch_flat_function(operation, element, arguments, stream, no_wait);
    }
    if (no_wait) return false;
    const auto shape = static_cast<std::int64_t>(count);
    const int result = result_of(operation, element);
    const std::int64_t step = element_sizes[element], out_step = element_sizes[result];
    const cupola_scalar zero{};
    elementwise(operation, element, {out, &out_step, result},
                {x, &step, x ? element : elements::none}, {y, &step, y ? element : elements::none},
                scalar ? *scalar : zero, &shape, 1, stream);
    return true;
}

}  // namespace cupola
