// csrc/runtime/array/dlpack.cpp - checks tensors of other libraries and exports cupola's own.
#include "runtime/array/dlpack.hpp"

#include <memory>
#include <vector>

#include "runtime/base/error.hpp"

namespace cupola {
namespace {

constexpr int max_axes = 64;  // NumPy's limit

[[noreturn]] void refuse(const std::string& what) {
    fail(CUPOLA_ERROR_VALUE, "a DLPack tensor " + what);
}

// Checks that the bytes from the first to the last element fit the address space, forward and, with
// negative strides, backward. Later arithmetic on them can then not overflow.
void check_extent(const dlpack::Tensor& t) {
    const std::int64_t most = (std::int64_t{1} << 60) / (t.type.bits / 8);
    std::int64_t count = 1, reach = 0;
    bool empty = false;
    for (int i = 0; i < t.ndim; ++i) {
        if (t.shape[i] < 0) refuse("has a negative length: " + std::to_string(t.shape[i]));
        empty |= t.shape[i] == 0;
    }
    if (empty) return;
    for (int i = 0; i < t.ndim; ++i) {
        if (__builtin_mul_overflow(count, t.shape[i], &count) || count > most)
            refuse("has more elements than the address space can hold");
        std::int64_t step = 0;
        if (!t.strides) continue;
        if (__builtin_mul_overflow(t.strides[i], t.shape[i] - 1, &step) || step > most ||
            step < -most || __builtin_add_overflow(reach, step < 0 ? -step : step, &reach) ||
            reach > most)
            refuse("has strides beyond the address space: " + std::to_string(t.strides[i]) +
                   " elements on axis " + std::to_string(i) +
                   "; if its library offers the CUDA array interface, pass that to cupola.asarray");
    }
}

void read(const dlpack::Tensor& t, cupola_tensor& out) {
    if (t.ndim < 0 || t.ndim > max_axes) refuse("has " + std::to_string(t.ndim) + " axes");
    if (t.ndim > 0 && !t.shape) refuse("has axes but no shape");
    if (t.type.lanes != 1)
        refuse("has elements of " + std::to_string(t.type.lanes) + " lanes; 1 was expected");
    if (t.type.bits == 0 || t.type.bits % 8 != 0)
        refuse("has elements of " + std::to_string(t.type.bits) +
               " bits; a multiple of 8 was expected");
    check_extent(t);
    std::uint64_t address = reinterpret_cast<std::uintptr_t>(t.data);
    if (__builtin_add_overflow(address, t.byte_offset, &address))
        refuse("begins beyond the address space");
    out = {};
    out.address = t.data ? address : 0;
    out.device_type = t.device.type;
    out.device = t.device.id;
    out.ndim = t.ndim;
    out.code = t.type.code;
    out.bits = t.type.bits;
    out.shape = t.shape;
    out.strides = t.strides;
    bool empty = false;
    for (int i = 0; i < t.ndim; ++i) empty |= t.shape[i] == 0;
    if (!out.address && !empty) refuse("has elements but no memory");
}

// An exported tensor: the structure, its shape and strides, and the owner to release.
template <class Managed>
struct Loan {
    Managed managed{};
    std::vector<std::int64_t> shape, strides;
    void* owner = nullptr;
    void (*release)(void*) = nullptr;
};

template <class Managed>
void end(Managed* managed) {
    if (!managed) return;
    auto* loan = static_cast<Loan<Managed>*>(managed->context);
    if (loan->release) loan->release(loan->owner);
    delete loan;
}

template <class Managed>
Loan<Managed>& lend(const cupola_tensor& t, void* owner, void (*release)(void*)) {
    if (t.ndim < 0 || t.ndim > max_axes) refuse("can't have " + std::to_string(t.ndim) + " axes");
    auto loan = std::make_unique<Loan<Managed>>();
    const auto count = static_cast<std::size_t>(t.ndim);
    if (count) loan->shape.assign(check_not_null(t.shape, "shape"), t.shape + count);
    loan->strides.resize(count);
    std::int64_t step = 1;
    for (std::size_t i = count; i-- > 0;) {
        loan->strides[i] = t.strides ? t.strides[i] : step;
        step *= loan->shape[i];
    }
    loan->owner = owner;
    loan->release = release;
    auto& tensor = loan->managed.tensor;
    tensor.data = reinterpret_cast<void*>(static_cast<std::uintptr_t>(t.address));
    tensor.device = {t.device_type, t.device};
    tensor.ndim = t.ndim;
    tensor.type = {t.code, t.bits, 1};
    tensor.shape = loan->shape.data();
    tensor.strides = loan->strides.data();
    loan->managed.context = loan.get();
    loan->managed.deleter = end<Managed>;
    return *loan.release();
}

}  // namespace

cupola_tensor dlpack::read_tensor(const Tensor& tensor) {
    cupola_tensor out{};
    read(tensor, out);
    return out;
}

cupola_tensor dlpack::read_tensor(const void* managed, bool versioned) {
    cupola_tensor out{};
    if (!versioned) {
        read(static_cast<const Managed*>(managed)->tensor, out);
        return out;
    }
    const auto& it = *static_cast<const ManagedVersioned*>(managed);
    // Another major version changes the layout of all fields except version and deleter.
    if (it.version.major != major_version)
        refuse("is of version " + std::to_string(it.version.major) + "." +
               std::to_string(it.version.minor) + "; 0.x or 1.x was expected");
    read(it.tensor, out);
    out.read_only = (it.flags & dlpack::read_only) != 0;
    out.copied = (it.flags & dlpack::copied) != 0;
    return out;
}

void* dlpack::make_tensor(const cupola_tensor& tensor, bool versioned, void* owner,
                          void (*release)(void*)) {
    if (!versioned) {
        if (tensor.read_only)
            refuse(
                "of version 0 can't be marked read-only: call __dlpack__ with max_version=(1, 0)");
        return &lend<Managed>(tensor, owner, release).managed;
    }
    auto& made = lend<ManagedVersioned>(tensor, owner, release).managed;
    made.version = {major_version, minor_version};
    made.flags = (tensor.read_only ? read_only : 0) | (tensor.copied ? copied : 0);
    return &made;
}

void dlpack::delete_tensor(void* managed, bool versioned) {
    const auto end = [](auto* it) {
        if (it->deleter) it->deleter(it);
    };
    if (versioned)
        end(static_cast<ManagedVersioned*>(managed));
    else
        end(static_cast<Managed*>(managed));
}

}  // namespace cupola
