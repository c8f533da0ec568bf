// csrc/runtime/operation/call_plan.hpp - the results of a call's checks, for calls like it.
#pragma once

#include <cstdint>
#include <vector>

#include "cupola/operation.h"
#include "runtime/context/stream.hpp"
#include "runtime/operation/operation.hpp"

namespace cupola {

class OperationCall;

// A later call is like the first one if its tensors have the same element types, shapes, strides
// and devices, and its integers the same values. Then only addresses and real numbers are new.
class CallPlan : public Object {
  public:
    // Null where no later call can be known to be like this call.
    static Ref<CallPlan> of(Ref<Operation> operation, const cupola_op_call& call);

    // Launches a call like the first one if that does not wait. False: it has done nothing, and
    // Operation::call has to check the call. The caller has compared the first `known` tensors, and
    // with them all integers.
    bool try_launch(const cupola_op_call& call, std::size_t known, cupola_stream** used) const;

  private:
    struct Form {  // the form of a tensor
        bool given, empty, has_strides;
        std::uint8_t code, bits;
        std::int32_t ndim, device_type, device;
        std::int64_t low, high;  // bytes from its address to the begin and end of its elements
        std::size_t lengths;     // the index of its first length in lengths_
    };
    struct Pointer {
        std::size_t tensor;
        std::uint32_t offset;  // in the arguments' buffer
    };
    struct Real {
        std::size_t scalar, argument;
    };
    struct Extent {
        std::uint64_t address, begin, end;
    };

    CallPlan(Ref<Operation> operation, const cupola_op_call& call, const OperationCall& checked);
    bool is_like(const cupola_op_call& call, std::size_t known) const;
    // The memory of the tensors; false where it is not aligned, or overlaps.
    bool place(const cupola_op_call& call, Extent* extents) const;

    Ref<Operation> operation_;
    std::size_t variant_;
    Ref<Kernel> kernel_;
    cupola_dimensions dimensions_{};
    cupola_attributes attributes_{};
    bool is_empty_;  // the grid
    std::vector<Form> forms_;
    std::vector<std::int64_t> lengths_;  // for each tensor, its shape, then its strides
    std::vector<std::size_t> written_;   // tensors
    std::vector<cupola_op_scalar> scalars_;
    std::vector<char> buffer_;  // the arguments, with pointers and reals left out
    std::vector<Pointer> pointers_;
    std::vector<Real> reals_;
};

inline CallPlan* unwrap(cupola_op_plan* plan) { return reinterpret_cast<CallPlan*>(plan); }
inline cupola_op_plan* wrap(CallPlan* plan) { return reinterpret_cast<cupola_op_plan*>(plan); }

}  // namespace cupola
