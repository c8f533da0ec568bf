// csrc/runtime/copy/loop_nest.hpp - the axes of an operation's arrays, merged to as few as
// possible.
#pragma once

#include <cstdint>
#include <vector>

#include "cupola/elementwise.h"

namespace cupola {

struct OperandAxis {
    std::uint64_t length;
    std::int64_t out, x, y;  // strides in bytes
};

struct LoopNest {
    std::uint64_t out, x, y;        // addresses
    std::vector<OperandAxis> list;  // outermost first; empty for one element

    std::uint64_t count() const {
        std::uint64_t all = 1;
        for (const OperandAxis& axis : list) all *= axis.length;
        return all;
    }
};

// Joins two neighbouring axes into one where the outer axis continues the inner axis: each step of
// the outer axis is the inner axis's step times the inner axis's length. The outermost comes first.
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

// Throws where `length` elements at that stride exceed the address space.
void require_reach(std::int64_t stride, std::uint64_t length);

// Fills in and merges the axes of `axes`, whose addresses are set. Axes are flipped so that the
// results' strides are positive. False where there are no elements.
bool normalize_axes(LoopNest& axes, const cupola_operand& out, const cupola_operand& x,
                    const cupola_operand& y, const std::int64_t* shape, int ndim);

// Reorders the loops into square tiles where an operand is transposed against the results, so that
// each loaded cache line is used soon. Gives several nests where tiles don't divide the lengths,
// each of at most `max_axes` axes. Returns the nest unchanged where tiling does not apply.
std::vector<LoopNest> tiled(const LoopNest& axes, std::size_t max_axes);

}  // namespace cupola
