// csrc/runtime/copy/loop_nest.hpp - where the elements of an operation's arrays lie, in as few axes
// as it takes.
#pragma once

#include <cstdint>
#include <vector>

#include "cupola/elementwise.h"

namespace cupola {

struct OperandAxis {
    std::uint64_t length;
    std::int64_t out, x, y;  // bytes from one element to the next
};

struct LoopNest {
    std::uint64_t out, x, y;        // addresses
    std::vector<OperandAxis> list;  // the outermost first; none: one element

    std::uint64_t count() const {
        std::uint64_t all = 1;
        for (const OperandAxis& axis : list) all *= axis.length;
        return all;
    }
};

// Joins neighbouring axes into one where the outer one only repeats the inner one: each of its
// steps is the inner axis's step times its length. The outermost axis comes first.
template <class Axis, class... Steps>
void merge_axes(std::vector<Axis>& axes, Steps Axis::*... steps) {
    std::vector<Axis> merged;  // the innermost first
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
        if (!merged.empty()) {
            Axis& inner = merged.back();
            const auto length = static_cast<std::int64_t>(inner.length);
            if (((*axis.*steps == inner.*steps * length) && ...)) {
                inner.length *= axis->length;
                continue;
            }
        }
        merged.push_back(*axis);
    }
    axes.assign(merged.rbegin(), merged.rend());
}

// Fails where so many elements, so many bytes apart, are in no memory that there can be.
void require_reach(std::int64_t stride, std::uint64_t length);

// Adds the axes to what has its addresses, turned so that the results go forward, and merged.
// False: there is nothing to do.
bool reduce(LoopNest& axes, const cupola_operand& out, const cupola_operand& x,
            const cupola_operand& y, const std::int64_t* shape, int ndim);

// The same elements in an order in which all arrays are gone through in squares, where an operand's
// elements follow each other along another axis than the results: so what a memory access brings
// along is used soon. In several parts where squares don't go into the lengths. Of not more than
// `most_axes`; what has no such order comes back as it is.
std::vector<LoopNest> tiled(const LoopNest& axes, std::size_t most_axes);

}  // namespace cupola
