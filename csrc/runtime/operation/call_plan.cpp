// csrc/runtime/operation/call_plan.cpp - launches calls like one that was checked.
#include "runtime/operation/call_plan.hpp"

#include <cstring>

#include "runtime/array/dlpack.hpp"
#include "runtime/launch/argument.hpp"
#include "runtime/launch/launch.hpp"
#include "runtime/launch/may_wait.hpp"
#include "runtime/operation/operation_call.hpp"

namespace cupola {

Ref<CallPlan> CallPlan::of(Ref<Operation> operation, const cupola_op_call& call) {
    const OperationCall checked(operation->declaration(), call);
    // The device of page-locked memory alone is the thread's current one.
    if (call.batched || !checked.has_device_memory()) return {};
    auto made = Ref<CallPlan>::adopt(new CallPlan(std::move(operation), call, checked));
    return made->is_empty_ ? Ref<CallPlan>() : made;
}

CallPlan::CallPlan(Ref<Operation> operation, const cupola_op_call& call,
                   const OperationCall& checked)
    : operation_(std::move(operation)),
      variant_(operation_->variant_for(checked.types())),
      kernel_(Ref<Kernel>::share(&operation_->kernel_of(variant_, checked.device()))),
      is_empty_(!checked.configure(*kernel_, dimensions_, attributes_)),
      scalars_(call.scalars, call.scalars + call.scalar_count),
      buffer_(kernel_->parameter_bytes) {
    const Declaration& declaration = operation_->declaration();
    Kernel& kernel = *kernel_;
    for (std::size_t i = 0; i < call.tensor_count; ++i) {
        const auto* tensor = static_cast<const dlpack::Tensor*>(call.tensors[i]);
        Form form{};
        if (tensor) {
            const auto [low, high] = checked.extent(i);
            form = {true,
                    low == high,
                    tensor->strides != nullptr,
                    tensor->type.code,
                    tensor->type.bits,
                    tensor->ndim,
                    tensor->device.type,
                    tensor->device.id,
                    low,
                    high,
                    lengths_.size()};
            lengths_.insert(lengths_.end(), tensor->shape, tensor->shape + tensor->ndim);
            if (tensor->strides)
                lengths_.insert(lengths_.end(), tensor->strides, tensor->strides + tensor->ndim);
            if (declaration.tensors[i].is_written() && !form.empty) written_.push_back(i);
        }
        forms_.push_back(form);
    }
    for (std::size_t i = 0; i < declaration.arguments.size(); ++i) {
        const ArgumentDeclaration& argument = declaration.arguments[i];
        const auto index = static_cast<std::size_t>(argument.index);
        if (argument.kind == ArgumentDeclaration::tensor)
            pointers_.push_back({index, kernel.parameters()[i].offset});
        else if (argument.kind == ArgumentDeclaration::scalar && call.scalars[index].is_real)
            reals_.push_back({index, i});
        else
            checked.put(kernel, i, buffer_.data(), 0);
        for (const FieldDeclaration& field : argument.fields)
            if (field.tensor >= 0)
                pointers_.push_back({static_cast<std::size_t>(field.tensor),
                                     kernel.parameters()[i].offset + field.offset});
    }
}

bool CallPlan::is_like(const cupola_op_call& call, std::size_t known) const {
    if (call.batched || call.tensor_count != forms_.size() || call.scalar_count != scalars_.size())
        return false;
    for (std::size_t i = known; i < forms_.size(); ++i) {
        const auto* tensor = static_cast<const dlpack::Tensor*>(call.tensors[i]);
        const Form& form = forms_[i];
        const std::int64_t* lengths = lengths_.data() + form.lengths;
        if (form.given != (tensor != nullptr)) return false;
        if (!tensor) continue;
        if (tensor->type.code != form.code || tensor->type.bits != form.bits ||
            tensor->type.lanes != 1 || tensor->ndim != form.ndim ||
            tensor->device.type != form.device_type || tensor->device.id != form.device ||
            (tensor->strides != nullptr) != form.has_strides)
            return false;
        for (int axis = 0; axis < form.ndim; ++axis)
            if (tensor->shape[axis] != *lengths++) return false;
        if (!form.has_strides) continue;
        for (int axis = 0; axis < form.ndim; ++axis)
            if (tensor->strides[axis] != *lengths++) return false;
    }
    for (std::size_t i = 0; !known && i < scalars_.size(); ++i) {
        const cupola_op_scalar& given = call.scalars[i];
        if ((given.is_real != 0) != (scalars_[i].is_real != 0)) return false;
        if (!given.is_real && given.integer != scalars_[i].integer) return false;
    }
    return true;
}

bool CallPlan::place(const cupola_op_call& call, Extent* extents) const {
    const std::uint64_t low_bits = operation_->declaration().align - 1;
    for (std::size_t i = 0; i < forms_.size(); ++i) {
        const Form& form = forms_[i];
        extents[i] = {};
        if (form.empty || !form.given) continue;
        const auto& tensor = *static_cast<const dlpack::Tensor*>(call.tensors[i]);
        std::uint64_t address = reinterpret_cast<std::uintptr_t>(tensor.data);
        if (!address || __builtin_add_overflow(address, tensor.byte_offset, &address) ||
            address & (low_bits | (form.bits / 8u - 1)))
            return false;
        extents[i] = {address, address + static_cast<std::uint64_t>(form.low),
                      address + static_cast<std::uint64_t>(form.high)};
    }
    for (std::size_t one : written_)
        for (std::size_t i = 0; i < forms_.size(); ++i)  // an empty extent overlaps none
            if (i != one && extents[one].begin < extents[i].end &&
                extents[i].begin < extents[one].end)
                return false;
    return true;
}

bool CallPlan::try_launch(const cupola_op_call& call, std::size_t known,
                          cupola_stream** used) const {
    Extent extents[Declaration::max_tensors];
    if (!is_like(call, known) || !operation_->binds(*kernel_, variant_) || !place(call, extents))
        return false;
    Stream& stream = OperationCall::stream_of(call, kernel_->context);
    if (used) *used = wrap(&stream);
    if (launch_may_wait(*kernel_, stream)) return false;
    alignas(16) char buffer[OperationCall::max_parameter_bytes];
    std::memcpy(buffer, buffer_.data(), buffer_.size());
    for (const Pointer& one : pointers_) {
        const std::uint64_t address = extents[one.tensor].address;
        if (!address) Flight::watch_nulls();
        std::memcpy(buffer + one.offset, &address, sizeof address);
    }
    const Declaration& declaration = operation_->declaration();
    with_name(declaration.name, [&] {
        for (const Real& one : reals_)
            put_float(*kernel_, one.argument, buffer, call.scalars[one.scalar].real);
        kernel_->launch(dimensions_, declaration.has_attributes ? &attributes_ : nullptr, buffer,
                        stream);
    });
    return true;
}

}  // namespace cupola
