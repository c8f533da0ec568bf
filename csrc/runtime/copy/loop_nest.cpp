// csrc/runtime/copy/loop_nest.cpp - merges the axes of an operation's arrays.
#include "runtime/copy/loop_nest.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "runtime/base/error.hpp"

namespace cupola {
void require_reach(std::int64_t stride, std::uint64_t length) {
    constexpr std::int64_t most = std::int64_t{1} << 60;
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(stride, length, &reach) || reach > most || reach < -most)
        fail(CUPOLA_ERROR_VALUE, "a stride of " + std::to_string(stride) + " bytes over " +
                                     std::to_string(length) +
                                     " elements exceeds the address space");
}

namespace {

constexpr std::uint64_t square = 32;  // elements: a cache line of 4 bytes each

// The axis along which an operand's elements are closer together than along the results' innermost
// axis.
std::size_t transposed_axis(const LoopNest& axes) {
    const std::size_t inner = axes.list.size() - 1;
    for (std::int64_t OperandAxis::*step : {&OperandAxis::x, &OperandAxis::y})
        for (std::size_t i = 0; i < inner; ++i) {
            const std::int64_t there = std::abs(axes.list[i].*step);
            if (there && there < std::abs(axes.list[inner].*step)) return i;
        }
    return inner;
}

LoopNest part(LoopNest axes, std::size_t which, std::uint64_t begin, std::uint64_t length) {
    OperandAxis& axis = axes.list[which];
    const auto steps = static_cast<std::int64_t>(begin);
    axes.out += static_cast<std::uint64_t>(axis.out * steps);
    axes.x += static_cast<std::uint64_t>(axis.x * steps);
    axes.y += static_cast<std::uint64_t>(axis.y * steps);
    axis.length = length;
    return axes;
}

OperandAxis every(const OperandAxis& axis, std::uint64_t elements) {
    const auto by = static_cast<std::int64_t>(elements);
    return {axis.length / elements, axis.out * by, axis.x * by, axis.y * by};
}

}  // namespace

std::vector<LoopNest> tiled(const LoopNest& axes, std::size_t max_axes) {
    constexpr std::uint64_t few = 1 << 18;  // this number of bytes fits the caches in any order
    if (axes.list.size() < 2 || axes.list.size() + 2 > max_axes || axes.count() < few)
        return {axes};
    const std::size_t inner = axes.list.size() - 1, other = transposed_axis(axes);
    const std::uint64_t rows = axes.list[other].length / square * square;
    const std::uint64_t columns = axes.list[inner].length / square * square;
    if (other == inner || rows == 0 || columns == 0) return {axes};
    std::vector<LoopNest> parts = {part(part(axes, other, 0, rows), inner, 0, columns)};
    auto& list = parts[0].list;
    const OperandAxis row = list[other], column = list[inner];
    list[other] = every(row, square);
    list[inner] = every(column, square);
    list.push_back({square, row.out, row.x, row.y});
    list.push_back({square, column.out, column.x, column.y});
    const std::uint64_t rows_left = axes.list[other].length - rows;
    const std::uint64_t columns_left = axes.list[inner].length - columns;
    if (rows_left) parts.push_back(part(axes, other, rows, rows_left));
    if (columns_left)
        parts.push_back(part(part(axes, other, 0, rows), inner, columns, columns_left));
    return parts;
}

bool normalize_axes(LoopNest& axes, const cupola_operand& out, const cupola_operand& x,
                    const cupola_operand& y, const std::int64_t* shape, int ndim) {
    for (int i = 0; i < ndim; ++i) {
        if (shape[i] < 0) fail(CUPOLA_ERROR_VALUE, "a shape has a negative size");
        if (shape[i] == 0) return false;
        if (shape[i] == 1) continue;
        const auto stride = [i](const cupola_operand& operand) {
            return operand.element == CUPOLA_ELEMENT_NONE ? 0 : operand.strides[i];
        };
        OperandAxis axis{static_cast<std::uint64_t>(shape[i]), stride(out), stride(x), stride(y)};
        if (axis.out == 0) fail(CUPOLA_ERROR_VALUE, "the results overlap: out has a stride of 0");
        for (std::int64_t step : {axis.out, axis.x, axis.y}) require_reach(step, axis.length);
        if (axis.out < 0) {  // start at the other end of the axis
            const auto last = static_cast<std::int64_t>(axis.length - 1);
            axes.out += static_cast<std::uint64_t>(axis.out * last);
            axes.x += static_cast<std::uint64_t>(axis.x * last);
            axes.y += static_cast<std::uint64_t>(axis.y * last);
            axis = {axis.length, -axis.out, -axis.x, -axis.y};
        }
        axes.list.push_back(axis);
    }
    std::sort(axes.list.begin(), axes.list.end(),
              [](const OperandAxis& a, const OperandAxis& b) { return a.out > b.out; });
    merge_axes(axes.list, &OperandAxis::out, &OperandAxis::x, &OperandAxis::y);
    return true;
}

}  // namespace cupola
