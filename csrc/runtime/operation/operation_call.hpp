// csrc/runtime/operation/operation_call.hpp - one call of an operation: its checked arguments.
#pragma once

#include "cupola/operation.h"
#include "cupola/tensor.h"
#include "runtime/context/stream.hpp"
#include "runtime/module/kernel.hpp"
#include "runtime/operation/declaration.hpp"

namespace cupola {

// Checks the arguments against the declaration when it is made. It lives on the stack and owns
// nothing.
class OperationCall {
  public:
    static constexpr std::size_t max_parameter_bytes = 4096;

    OperationCall(const Declaration& declaration, const cupola_op_call& call);

    const ElementType* types() const { return types_; }  // of the type variables
    int device() const { return device_; }
    void launch(Kernel& kernel);

  private:
    struct Tensor {  // without initializers: a call sets those that it has
        bool given;
        bool batched;
        cupola_tensor view;
        // Without the batch's axis.
        const std::int64_t* shape;
        const std::int64_t* strides;
        int ndim;
        std::int64_t step;         // bytes from one element of the batch to the next
        std::uint64_t begin, end;  // the bytes of its elements
    };

    [[noreturn, gnu::cold]] void fail_at(std::size_t tensor, cupola_status status,
                                         const std::string& text) const;
    void read(std::size_t index, const void* tensor);
    void check_batch(std::size_t index);
    void check_type(std::size_t index);
    void check_device(std::size_t index);
    void check_layout(std::size_t index) const;
    void bind_lengths(std::size_t index);
    void bind_broadcasts(std::size_t index);
    void check_lengths(std::size_t index) const;
    void bind_symbols();
    void check_overlaps() const;
    std::int64_t value_of(const Expression& expression, const char* what) const;
    std::int64_t value_in(const Expression& expression, const char* what, std::int64_t least,
                          std::int64_t most) const;
    bool dimensions(cupola_dimensions& out) const;
    void attributes(cupola_attributes& out) const;
    void put(Kernel& kernel, std::size_t index, void* buffer, std::int64_t element) const;
    void queue(Kernel& kernel, Stream& stream);
    Stream& stream(Context& context) const;

    const Declaration& declaration_;
    const cupola_op_call& call_;
    Tensor tensors_[Declaration::max_tensors];
    ElementType types_[Declaration::max_tensors];
    std::int64_t values_[Declaration::max_symbols];
    signed char binder_[Declaration::max_symbols];  // the tensor that bound it; -1: none
    int pack_ = -1;                                 // the tensor whose leading axes are the pack
    bool on_host_ = false;
    int device_ = -1;
};

}  // namespace cupola
