// csrc/runtime/array/reduction_order.hpp - the layouts whose sums have the bits of C order.
#pragma once

#include <cstdint>
#include <vector>

#include "cupola/elementwise.h"
#include "runtime/memory/memory.hpp"

namespace cupola::reducing {

// The shape of a reduction and the axes that it reduces.
struct Extent {
    const std::int64_t* shape;
    int ndim;
    std::uint64_t axes;  // a bit for each reduced axis

    bool is_reduced(int axis) const { return axes >> axis & 1; }
    // The nearest axis outside of `axis` that has several elements; -1: none.
    int next_outer(int axis) const;
};

// Whether the plan of x has the axes of the plan of C order, in the same order. `step` is the
// distance of elements that the kernels need, in bytes; 0: any.
bool has_plan_of_c_order(const Extent& extent, const std::int64_t* strides, std::int64_t step);

// Whether the kept axes of the results merge as in C order.
bool has_results_of_c_order(const Extent& extent, const std::int64_t* strides);

// Memory for the elements of one operand in C order. It is freed in stream order.
class InOrder {
  public:
    // Axes whose bits are not set in `axes` have one element.
    InOrder(const cupola_operand& operand, const Extent& extent, std::uint64_t axes,
            Stream& stream);
    const cupola_operand& operand() const { return here_; }
    void copy_in() { copy(here_, there_); }
    void copy_out() { copy(there_, here_); }

  private:
    void copy(const cupola_operand& to, const cupola_operand& from);

    Stream& stream_;
    cupola_operand there_, here_;
    std::vector<std::int64_t> shape_, strides_;
    Ref<DeviceMemory> memory_;
};

}  // namespace cupola::reducing
