// csrc/runtime/operation/operation_call.hpp - one call of an operation: its checked arguments.
#pragma once

#include <utility>

#include "cupola/operation.h"
#include "cupola/tensor.h"
#include "runtime/context/stream.hpp"
#include "runtime/module/kernel.hpp"
#include "runtime/operation/declaration.hpp"

namespace cupola {

// Runs what launches an operation's kernel; errors get the operation's name.
template <class F>
void with_name(const std::string& operation, F&& body) {
    try {
        std::forward<F>(body)();
    } catch (Error& error) {
        if (error.code == 0) error.text = operation + ": " + error.text;
        throw;
    }
}

// Checks the arguments against the declaration in its constructor. The object lives on the stack
// and owns nothing.
class OperationCall {
  public:
    static constexpr std::size_t max_parameter_bytes = 4096;

    OperationCall(const Declaration& declaration, const cupola_op_call& call);

    const ElementType* types() const { return types_; }  // the type of each type variable
    int device() const { return device_; }
    bool has_device_memory() const { return !on_host_ && device_given_; }
    void launch(Kernel& kernel);

    // Grid, block and attributes, checked for the kernel; false where the grid is empty.
    bool configure(Kernel& kernel, cupola_dimensions& dimensions,
                   cupola_attributes& attributes) const;
    // Writes an argument for one element of a batch; for 0, without a batch.
    void put(Kernel& kernel, std::size_t index, void* buffer, std::int64_t element) const;
    // Bytes from a tensor's address to the begin and the end of its elements; both 0 for none.
    std::pair<std::int64_t, std::int64_t> extent(std::size_t tensor) const {
        const Tensor& t = tensors_[tensor];
        if (t.begin == t.end) return {0, 0};
        return {static_cast<std::int64_t>(t.begin - t.view.address),
                static_cast<std::int64_t>(t.end - t.view.address)};
    }
    static Stream& stream_of(const cupola_op_call& call, Context& context);

  private:
    struct Tensor {  // without initializers: a call sets the elements that it uses
        bool given;
        bool batched;
        cupola_tensor view;
        // The shape without the batch's axis.
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
    void queue(Kernel& kernel, Stream& stream);

    const Declaration& declaration_;
    const cupola_op_call& call_;
    Tensor tensors_[Declaration::max_tensors];
    ElementType types_[Declaration::max_tensors];
    std::int64_t values_[Declaration::max_symbols];
    signed char binder_[Declaration::max_symbols];  // the tensor that bound the name; -1: none
    int pack_ = -1;                                 // the tensor whose leading axes are the pack
    bool on_host_ = false;
    bool device_given_ = false;  // whether a tensor's memory named the device
    int device_ = -1;
};

}  // namespace cupola
