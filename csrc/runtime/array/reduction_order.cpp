// csrc/runtime/array/reduction_order.cpp - the layouts whose sums have the bits of C order.
//
// A plan sorts and merges axes by their strides, so strides can choose the order of additions.
// Other layouts than these are copied to C order before.
#include "runtime/array/reduction_order.hpp"

#include "runtime/array/operation.hpp"
#include "runtime/copy/strided_copy.hpp"

namespace cupola::reducing {
namespace {

// Whether all reduced axes are inside of all kept ones.
bool reduces_innermost(const Extent& extent) {
    bool kept = false;
    for (int axis = extent.next_outer(extent.ndim); axis >= 0; axis = extent.next_outer(axis)) {
        if (extent.is_reduced(axis) && kept) return false;
        kept = !extent.is_reduced(axis);
    }
    return true;
}

}  // namespace

int Extent::next_outer(int axis) const {
    do --axis;
    while (axis >= 0 && shape[axis] == 1);
    return axis;
}

bool has_plan_of_c_order(const Extent& extent, const std::int64_t* strides, std::int64_t step) {
    int inner = extent.next_outer(extent.ndim);
    if (inner < 0) return true;
    // The kernel of rows adds each result by itself: the order of the results is free.
    const bool rows = step && reduces_innermost(extent);
    if (rows && !extent.is_reduced(inner)) return true;  // each result is one element
    if (step ? strides[inner] != step : strides[inner] <= 0) return false;
    for (int axis; (axis = extent.next_outer(inner)) >= 0; inner = axis) {
        if (rows && !extent.is_reduced(axis)) return true;
        const std::int64_t end = strides[inner] * extent.shape[inner];
        const bool merges = extent.is_reduced(axis) == extent.is_reduced(inner);
        if (merges ? strides[axis] != end : strides[axis] < end) return false;
    }
    return true;
}

bool has_results_of_c_order(const Extent& extent, const std::int64_t* strides) {
    int inner = extent.next_outer(extent.ndim);
    for (int axis = inner; axis >= 0; inner = axis) {
        axis = extent.next_outer(inner);
        if (axis >= 0 && !extent.is_reduced(axis) && !extent.is_reduced(inner) &&
            strides[axis] != strides[inner] * extent.shape[inner])
            return false;
    }
    return true;
}

InOrder::InOrder(const cupola_operand& operand, const Extent& extent, std::uint64_t axes,
                 Stream& stream)
    : stream_(stream),
      there_(operand),
      here_(operand),
      shape_(extent.shape, extent.shape + extent.ndim),
      strides_(shape_.size()) {
    std::int64_t bytes = element_sizes[operand.element];
    for (std::size_t axis = shape_.size(); axis-- > 0;) {
        if (!(axes >> axis & 1)) shape_[axis] = 1;
        strides_[axis] = bytes;
        bytes *= shape_[axis];
    }
    memory_ = make<DeviceMemory>(stream.context, static_cast<std::size_t>(bytes), stream);
    here_.address = memory_->address;
    here_.strides = strides_.data();
}

void InOrder::copy(const cupola_operand& to, const cupola_operand& from) {
    copy_strided({to.address, to.strides}, {from.address, from.strides}, shape_.data(),
                 static_cast<int>(shape_.size()),
                 static_cast<std::size_t>(element_sizes[here_.element]), CUPOLA_ON_DEVICE, stream_);
}

}  // namespace cupola::reducing
