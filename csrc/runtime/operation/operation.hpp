// csrc/runtime/operation/operation.hpp - a declared operation with its kernels, and its calls.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cupola/operation.h"
#include "runtime/module/kernel.hpp"
#include "runtime/operation/declaration.hpp"

namespace cupola {

class Operation : public Object {
  public:
    explicit Operation(std::string_view bytes);

    const Declaration& declaration() const { return declaration_; }
    const std::string& types(std::size_t variant) const { return types_[variant]; }
    void bind(std::size_t variant, Ref<Kernel> kernel);
    bool bound(std::size_t variant, int device) const;
    // The kernel for the types of the variables, which must be bound.
    std::size_t variant_for(const ElementType* types) const;
    Kernel& kernel_of(std::size_t variant, int device) const;
    // Whether a kernel is the one that is bound.
    bool binds(const Kernel& kernel, std::size_t variant) const {
        const auto device = static_cast<std::size_t>(kernel.context.ordinal);
        const Kernels* list = kernels_[device].load(std::memory_order_acquire);
        return list && (*list)[variant].get() == &kernel;
    }
    void call(const cupola_op_call& call);

  private:
    using Kernels = std::vector<Ref<Kernel>>;  // by variant; null where none is bound

    void check_kernel(const Kernel& kernel, std::size_t variant) const;

    Declaration declaration_;
    std::vector<std::string> types_;
    std::array<std::atomic<const Kernels*>, max_ordinals> kernels_{};
    std::mutex mutex_;                             // guards the next
    std::vector<std::unique_ptr<Kernels>> lists_;  // includes replaced lists
};

inline Operation* unwrap(cupola_op* op) { return reinterpret_cast<Operation*>(op); }
inline const Operation* unwrap(const cupola_op* op) {
    return reinterpret_cast<const Operation*>(op);
}
inline cupola_op* wrap(Operation* operation) { return reinterpret_cast<cupola_op*>(operation); }

}  // namespace cupola
