// csrc/runtime/axes.cpp - merges the axes of an operation's arrays.
#include "runtime/axes.hpp"

#include <algorithm>
#include <string>

#include "runtime/error.hpp"

namespace cupola {
void require_reach(std::int64_t stride, std::uint64_t length) {
    constexpr std::int64_t most = std::int64_t{1} << 60;
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(stride, length, &reach) || reach > most || reach < -most)
        fail(CUPOLA_ERROR_VALUE, "a stride of " + std::to_string(stride) + " bytes over " +
                                     std::to_string(length) + " elements is beyond any memory");
}

bool reduce(Axes& axes, const cupola_operand& out, const cupola_operand& x, const cupola_operand& y,
            const std::int64_t* shape, int ndim) {
    for (int i = 0; i < ndim; ++i) {
        if (shape[i] < 0) fail(CUPOLA_ERROR_VALUE, "a shape has a negative size");
        if (shape[i] == 0) return false;
        if (shape[i] == 1) continue;
        const auto stride = [i](const cupola_operand& operand) {
            return operand.element == CUPOLA_ELEMENT_NONE ? 0 : operand.strides[i];
        };
        OperandAxis axis{static_cast<std::uint64_t>(shape[i]), stride(out), stride(x), stride(y)};
        if (axis.out == 0) fail(CUPOLA_ERROR_VALUE, "the results lie over each other");
        for (std::int64_t step : {axis.out, axis.x, axis.y}) require_reach(step, axis.length);
        if (axis.out < 0) {  // from the other end
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
    // An axis whose elements are as far apart as the whole of the next one is a part of it.
    std::vector<OperandAxis> merged;
    for (auto axis = axes.list.rbegin(); axis != axes.list.rend(); ++axis) {
        if (!merged.empty()) {
            OperandAxis& inner = merged.back();
            const auto length = static_cast<std::int64_t>(inner.length);
            if (axis->out == inner.out * length && axis->x == inner.x * length &&
                axis->y == inner.y * length) {
                inner.length *= axis->length;
                continue;
            }
        }
        merged.push_back(*axis);
    }
    axes.list.assign(merged.rbegin(), merged.rend());
    return true;
}

}  // namespace cupola
