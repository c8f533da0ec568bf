// csrc/runtime/operation/operation_call.cpp - checks the arguments of one call.
#include "runtime/operation/operation_call.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/array/dlpack.hpp"
#include "runtime/context/device.hpp"

namespace cupola {
namespace {

enum DeviceType { cpu = 1, cuda = 2, cuda_host = 3, cuda_managed = 13 };

std::string shape_text(const std::int64_t* shape, int ndim) {
    std::string text = "(";
    for (int i = 0; i < ndim; ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
    return text + (ndim == 1 ? ",)" : ")");
}

std::string memory_text(bool host, int device) {
    return host ? "host memory" : "the memory of " + device_text(device);
}

bool is_contiguous(const std::int64_t* shape, const std::int64_t* strides, int ndim) {
    if (!strides) return true;
    std::int64_t expected = 1;
    for (int i = ndim; i-- > 0;) {
        if (shape[i] == 0) return true;
        if (shape[i] != 1 && strides[i] != expected) return false;
        expected *= shape[i];
    }
    return true;
}

}  // namespace

OperationCall::OperationCall(const Declaration& declaration, const cupola_op_call& call)
    : declaration_(declaration), call_(call) {
    const std::size_t count = declaration.tensors.size();
    if (call.tensor_count != count)
        fail(CUPOLA_ERROR_TYPE, declaration.name + ": takes " + std::to_string(count) +
                                    " tensors, got " + std::to_string(call.tensor_count));
    if (call.scalar_count != declaration.scalars.size())
        fail(CUPOLA_ERROR_TYPE, declaration.name + ": takes " +
                                    std::to_string(declaration.scalars.size()) + " scalars, got " +
                                    std::to_string(call.scalar_count));
    if (count) check_not_null(call.tensors, "tensors");
    if (call.scalar_count) check_not_null(call.scalars, "scalars");
    if (call.batched && declaration.batch == Declaration::none)
        fail(CUPOLA_ERROR_VALUE, declaration.name + ": its declaration has no batch");
    if (call.batched && call.batch < 0)
        fail(CUPOLA_ERROR_VALUE, declaration.name + ": the batch has the negative length " +
                                     std::to_string(call.batch));
    std::memset(binder_, -1, declaration.symbols.size());
    for (std::size_t i = 0; i < count; ++i) {
        read(i, call.tensors[i]);
        if (!tensors_[i].given) continue;
        check_type(i);
        check_device(i);
    }
    device_given_ = device_ >= 0;
    if (!device_given_) device_ = current_device();  // all tensors are in page-locked memory
    for (std::size_t i = 0; i < count; ++i)
        if (tensors_[i].given && declaration.tensors[i].role == TensorDeclaration::input)
            bind_lengths(i);
    for (std::size_t i = 0; i < count; ++i)
        if (tensors_[i].given && declaration.tensors[i].role == TensorDeclaration::input)
            bind_broadcasts(i);
    bind_symbols();
    for (std::size_t i = 0; i < count; ++i)
        if (tensors_[i].given) check_lengths(i), check_layout(i);
    check_overlaps();
}

void OperationCall::fail_at(std::size_t tensor, cupola_status status,
                            const std::string& text) const {
    fail(status, declaration_.name + ": " + declaration_.title(tensor) + ": " + text);
}

void OperationCall::read(std::size_t index, const void* tensor) {
    const TensorDeclaration& declared = declaration_.tensors[index];
    Tensor& t = tensors_[index];
    t = Tensor{};
    if (!tensor) {
        if (!declared.optional)
            fail_at(index, CUPOLA_ERROR_TYPE, "expected " + declared.text + ", got no tensor");
        return;
    }
    try {
        t.view = dlpack::read_tensor(*static_cast<const dlpack::Tensor*>(tensor));
    } catch (const Error& error) {
        fail_at(index, error.status, error.text);
    }
    t.given = true;
    t.shape = t.view.shape;
    t.strides = t.view.strides;
    t.ndim = t.view.ndim;
    // The bytes from the first to the last element. read_tensor has checked that they do not
    // overflow.
    const std::int64_t itemsize = t.view.bits / 8;
    std::int64_t low = 0, high = 1, count = 1;
    for (int i = 0; i < t.ndim; ++i) {
        count *= t.shape[i];
        if (!t.strides || t.shape[i] == 0) continue;
        const std::int64_t reach = t.strides[i] * (t.shape[i] - 1);
        (reach < 0 ? low : high) += reach;
    }
    if (!t.strides) high = count;
    t.begin = t.view.address + static_cast<std::uint64_t>(low * itemsize);
    t.end = t.view.address + static_cast<std::uint64_t>(high * itemsize);
    if (count == 0) t.begin = t.end = 0;
    if (!call_.batched) return;
    if (call_.batched[index])
        check_batch(index);
    else if (declared.is_written() && declared.role != TensorDeclaration::workspace)
        fail_at(index, CUPOLA_ERROR_VALUE, "it is written, so it must have the batch");
}

void OperationCall::check_batch(std::size_t index) {
    Tensor& t = tensors_[index];
    if (t.ndim == 0 || t.shape[0] != call_.batch)
        fail_at(index, CUPOLA_ERROR_VALUE,
                "expected a batch of " + std::to_string(call_.batch) + ", got shape " +
                    shape_text(t.shape, t.ndim));
    std::int64_t elements = 1;
    for (int i = 1; i < t.ndim; ++i) elements *= t.shape[i];
    const std::int64_t step = t.strides ? t.strides[0] : elements;
    t.batched = true;
    t.step = step * (t.view.bits / 8);
    if (declaration_.batch == Declaration::symbol && t.end != t.begin && call_.batch > 1 &&
        step != elements)
        fail_at(index, CUPOLA_ERROR_VALUE, "the elements of its batch do not follow each other");
    ++t.shape;
    if (t.strides) ++t.strides;
    --t.ndim;
}

void OperationCall::check_type(std::size_t index) {
    const TensorDeclaration& declared = declaration_.tensors[index];
    const ElementType type{tensors_[index].view.code, tensors_[index].view.bits};
    if (declared.variable < 0) {
        if (type != declared.type)
            fail_at(index, CUPOLA_ERROR_TYPE,
                    "expected elements of " + name_of(declared.type) + ", got " + name_of(type));
        return;
    }
    ElementType& bound = types_[declared.variable];
    if (!bound.bits) {
        bound = type;
    } else if (bound != type) {
        const std::string& variable =
            declaration_.variables[static_cast<std::size_t>(declared.variable)];
        fail_at(index, CUPOLA_ERROR_TYPE,
                "expected elements of " + name_of(bound) + ", which is " + variable +
                    " by an argument before it, got " + name_of(type));
    }
}

void OperationCall::check_device(std::size_t index) {
    const cupola_tensor& view = tensors_[index].view;
    const int type = view.device_type;
    if (type != cpu && type != cuda && type != cuda_host && type != cuda_managed)
        fail_at(index, CUPOLA_ERROR_VALUE,
                "DLPack's device type " + std::to_string(type) + " is not supported");
    if (type == cuda_host) return;  // every device can use it
    const int device = type != cpu ? view.device : on_host_ ? device_ : host_device();
    if (device < 0)
        fail_at(index, CUPOLA_ERROR_VALUE,
                "it is in host memory, which a kernel on a GPU can't use: copy it to the GPU, or "
                "set CUPOLA_CPU_TENSORS=1 to compute with it on the CPU device");
    if (device_ < 0) {
        device_ = device;
        on_host_ = type == cpu;
        return;
    }
    if (device == device_ && on_host_ == (type == cpu)) return;
    fail_at(index, CUPOLA_ERROR_VALUE,
            "it is in " + memory_text(type == cpu, device) + ", an argument before it in " +
                memory_text(on_host_, device_) + ": all must be in one memory");
}

void OperationCall::bind_lengths(std::size_t index) {
    const TensorDeclaration& declared = declaration_.tensors[index];
    const Tensor& t = tensors_[index];
    const int given = static_cast<int>(declared.lengths.size());
    if (t.ndim < given || (!declared.has_pack && t.ndim != given))
        fail_at(index, CUPOLA_ERROR_VALUE,
                "expected " + declared.text + ", which has " + std::to_string(given) +
                    (declared.has_pack ? " or more" : "") + (given == 1 ? " axis" : " axes") +
                    ", got shape " + shape_text(t.shape, t.ndim));
    const int before = t.ndim - given;
    if (declared.has_pack && pack_ < 0) {
        pack_ = static_cast<int>(index);
        std::int64_t product = 1;
        for (int i = 0; i < before; ++i)
            if (__builtin_mul_overflow(product, t.shape[i], &product))
                fail_at(index, CUPOLA_ERROR_VALUE,
                        "the product of its leading lengths exceeds the range of 64-bit integers: "
                        "shape " +
                            shape_text(t.shape, t.ndim));
        values_[declaration_.pack] = product;
    }
    for (int i = 0; i < given; ++i) {
        const Length& length = declared.lengths[static_cast<std::size_t>(i)];
        if (length.kind != Length::binds || binder_[length.symbol] >= 0) continue;
        values_[length.symbol] = t.shape[before + i];
        binder_[length.symbol] = static_cast<signed char>(index);
    }
}

// A size that only broadcast lengths have is the first of them that is not 1.
void OperationCall::bind_broadcasts(std::size_t index) {
    const TensorDeclaration& declared = declaration_.tensors[index];
    const Tensor& t = tensors_[index];
    const std::size_t before = static_cast<std::size_t>(t.ndim) - declared.lengths.size();
    for (std::size_t i = 0; i < declared.lengths.size(); ++i) {
        const Length& length = declared.lengths[i];
        if (length.kind != Length::broadcast) continue;
        const std::int64_t have = t.shape[before + i];
        if (binder_[length.symbol] >= 0 && (values_[length.symbol] != 1 || have == 1)) continue;
        // A length of 1 binds it until another length is found, if a plain length has not.
        const bool plain = binder_[length.symbol] >= 0 && [&] {
            const auto& by = declaration_.tensors[static_cast<std::size_t>(binder_[length.symbol])];
            return std::any_of(by.lengths.begin(), by.lengths.end(), [&](const Length& one) {
                return one.kind == Length::binds && one.symbol == length.symbol;
            });
        }();
        if (plain) continue;
        values_[length.symbol] = have;
        binder_[length.symbol] = static_cast<signed char>(index);
    }
}

void OperationCall::bind_symbols() {
    for (std::size_t i = 0; i < declaration_.scalars.size(); ++i) {
        const ScalarDeclaration& scalar = declaration_.scalars[i];
        const cupola_op_scalar& given = call_.scalars[i];
        if (scalar.kind == ScalarDeclaration::real) continue;
        if (given.is_real)
            fail(CUPOLA_ERROR_TYPE, declaration_.name + ": argument " + scalar.name +
                                        ": expected an integer, got a real number");
        if (scalar.kind == ScalarDeclaration::truth && (given.integer < 0 || given.integer > 1))
            fail(CUPOLA_ERROR_VALUE, declaration_.name + ": argument " + scalar.name +
                                         ": expected a bool, got " + std::to_string(given.integer));
        values_[scalar.symbol] = given.integer;
    }
    for (const DerivedSymbol& one : declaration_.derived) {
        std::int64_t& value = values_[one.symbol];
        if (one.kind == DerivedSymbol::element_size) {
            value = (one.index < 0 ? one.type : types_[one.index]).bits / 8;
            continue;
        }
        const Tensor& t = tensors_[one.index];
        if (one.kind == DerivedSymbol::present) {
            value = t.given;
            continue;
        }
        const auto& lengths = declaration_.tensors[static_cast<std::size_t>(one.index)].lengths;
        const int axis = t.ndim - static_cast<int>(lengths.size()) + one.axis;
        value = 0;
        // Outputs are checked later: one of too few axes has no stride here, and is refused.
        if (!t.given || axis < 0 || axis >= t.ndim || t.shape[axis] == 1) continue;
        value = 1;
        for (int i = axis + 1; !t.strides && i < t.ndim; ++i) value *= t.shape[i];
        if (t.strides) value = t.strides[axis];
    }
    if (declaration_.batch_symbol >= 0)
        values_[declaration_.batch_symbol] = call_.batched ? call_.batch : 1;
    for (const auto& size : declaration_.sizes)
        values_[size.symbol] = value_of(
            size.expression, declaration_.symbols[static_cast<std::size_t>(size.symbol)].c_str());
    for (const Expression& check : declaration_.checks) {
        if (value_of(check, "check")) continue;
        std::int64_t left = 0, right = 0;
        check.sides(values_, left, right);
        fail(CUPOLA_ERROR_VALUE, declaration_.name + ": expected " + check.text() + ", got " +
                                     std::to_string(left) + " and " + std::to_string(right));
    }
}

void OperationCall::check_lengths(std::size_t index) const {
    const TensorDeclaration& declared = declaration_.tensors[index];
    const Tensor& t = tensors_[index];
    const int given = static_cast<int>(declared.lengths.size());
    const auto refuse = [&](const std::string& text) {
        fail_at(index, CUPOLA_ERROR_VALUE,
                "expected " + declared.text + ", got shape " + shape_text(t.shape, t.ndim) + ": " +
                    text);
    };
    int before = 0;
    if (declared.has_pack) {
        const Tensor& leader = tensors_[pack_];
        before =
            leader.ndim -
            static_cast<int>(declaration_.tensors[static_cast<std::size_t>(pack_)].lengths.size());
        const bool same =
            t.ndim == before + given && std::equal(leader.shape, leader.shape + before, t.shape);
        if (!same)
            refuse("its leading lengths must be " + shape_text(leader.shape, before) + ", by " +
                   declaration_.title(static_cast<std::size_t>(pack_)));
    } else if (t.ndim != given) {
        refuse("it must have " + std::to_string(given) + (given == 1 ? " axis" : " axes"));
    }
    for (int i = 0; i < given; ++i) {
        const Length& length = declared.lengths[static_cast<std::size_t>(i)];
        const std::int64_t have = t.shape[before + i];
        const bool computed = length.kind == Length::computed;
        const std::int64_t want =
            computed ? value_of(length.expression, declared.name.c_str()) : values_[length.symbol];
        if (have == want || (length.kind == Length::broadcast && have == 1)) continue;
        const std::string axis =
            "length " + std::to_string(have) + " of axis " + std::to_string(before + i) + ", but ";
        const int symbol = computed ? length.expression.symbol() : length.symbol;
        const signed char by = symbol < 0 ? static_cast<signed char>(-1) : binder_[symbol];
        refuse(axis +
               (symbol < 0 ? length.expression.text()
                           : declaration_.symbols[static_cast<std::size_t>(symbol)]) +
               " is " + std::to_string(want) +
               (by >= 0 ? ", by " + declaration_.title(static_cast<std::size_t>(by)) : ""));
    }
}

void OperationCall::check_layout(std::size_t index) const {
    const TensorDeclaration& declared = declaration_.tensors[index];
    const Tensor& t = tensors_[index];
    if (t.begin == t.end) return;
    if (!declared.strided && !is_contiguous(t.shape, t.strides, t.ndim))
        fail_at(index, CUPOLA_ERROR_VALUE,
                "expected elements in C order, got strides " + shape_text(t.strides, t.ndim) +
                    " for shape " + shape_text(t.shape, t.ndim) + ": make it contiguous");
    const std::uint64_t align = std::max<std::uint64_t>(declaration_.align, t.view.bits / 8);
    const bool step_suits =
        !t.batched || call_.batch < 2 || static_cast<std::uint64_t>(t.step) % align == 0;
    if (t.view.address % align || !step_suits)
        fail_at(index, CUPOLA_ERROR_VALUE,
                "expected an address that is a multiple of " + std::to_string(align) +
                    " bytes: copy it to memory of its own");
}

void OperationCall::check_overlaps() const {
    const std::size_t count = declaration_.tensors.size();
    for (std::size_t i = 0; i < count; ++i) {
        const Tensor& one = tensors_[i];
        if (!one.given || !declaration_.tensors[i].is_written() || one.begin == one.end) continue;
        for (std::size_t j = 0; j < count; ++j) {
            const Tensor& other = tensors_[j];
            if (j == i || !other.given || one.begin >= other.end || other.begin >= one.end)
                continue;
            fail_at(i, CUPOLA_ERROR_VALUE,
                    "its memory overlaps that of " + declaration_.title(j) +
                        "; the kernel writes it, so it needs memory of its own");
        }
    }
}

std::int64_t OperationCall::value_of(const Expression& expression, const char* what) const {
    std::int64_t value = 0;
    if (const char* wrong = expression.evaluate(values_, value))
        fail(CUPOLA_ERROR_VALUE, declaration_.name + ": " + what + " " + expression.text() +
                                     " can't be computed from these arguments: " + wrong);
    return value;
}

std::int64_t OperationCall::value_in(const Expression& expression, const char* what,
                                     std::int64_t least, std::int64_t most) const {
    const std::int64_t value = value_of(expression, what);
    if (value >= least && value <= most) return value;
    fail(CUPOLA_ERROR_VALUE, declaration_.name + ": " + what + " " + expression.text() + " is " +
                                 std::to_string(value) + ", expected " + std::to_string(least) +
                                 " to " + std::to_string(most));
}

}  // namespace cupola
