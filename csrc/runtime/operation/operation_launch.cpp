// csrc/runtime/operation/operation_launch.cpp - launches the kernel of a call that was checked.
#include <cstring>
#include <limits>

#include "runtime/context/capture.hpp"
#include "runtime/context/device.hpp"
#include "runtime/launch/argument.hpp"
#include "runtime/launch/launch.hpp"
#include "runtime/operation/host_scope.hpp"
#include "runtime/operation/operation_call.hpp"
#include "runtime/operation/stream_handles.hpp"
#include "runtime/profile/profile.hpp"

namespace cupola {

// False where the grid is empty.
bool OperationCall::dimensions(cupola_dimensions& out) const {
    constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
    bool empty = false;
    for (int axis = 0; axis < 3; ++axis) {
        out.grid[axis] =
            static_cast<std::uint32_t>(value_in(declaration_.grid[axis], "grid", 0, most));
        out.block[axis] =
            static_cast<std::uint32_t>(value_in(declaration_.block[axis], "block", 1, most));
        empty |= out.grid[axis] == 0;
    }
    if (!declaration_.shared.empty())
        out.shared = static_cast<std::uint32_t>(value_in(declaration_.shared, "shared", 0, most));
    if (!empty) return true;
    for (std::size_t i = 0; i < declaration_.tensors.size(); ++i)
        if (declaration_.tensors[i].role == TensorDeclaration::output && tensors_[i].given &&
            tensors_[i].begin != tensors_[i].end)
            fail(CUPOLA_ERROR_VALUE, declaration_.name + ": the grid is empty, but " +
                                         declaration_.title(i) +
                                         " has elements, which no block would write");
    return false;
}

void OperationCall::attributes(cupola_attributes& out) const {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    const auto flag = [&](const Expression& expression, const char* what, std::uint32_t bit) {
        if (!expression.empty() && value_in(expression, what, 0, 1)) out.flags |= bit;
    };
    for (int axis = 0; axis < 3 && !declaration_.cluster[0].empty(); ++axis)
        out.cluster[axis] =
            static_cast<std::uint32_t>(value_in(declaration_.cluster[axis], "cluster", 1, most));
    flag(declaration_.cooperative, "cooperative", CUPOLA_COOPERATIVE);
    flag(declaration_.dependent, "dependent", CUPOLA_DEPENDENT);
    if (!declaration_.priority.empty()) {
        out.flags |= CUPOLA_PRIORITY;
        out.priority =
            static_cast<std::int32_t>(value_in(declaration_.priority, "priority", -most, most));
    }
    if (!declaration_.carveout.empty()) {
        out.flags |= CUPOLA_CARVEOUT;
        out.carveout =
            static_cast<std::int32_t>(value_in(declaration_.carveout, "carveout", 0, 100));
    }
}

void OperationCall::put(Kernel& kernel, std::size_t index, void* buffer,
                        std::int64_t element) const {
    const ArgumentDeclaration& argument = declaration_.arguments[index];
    const auto address_of = [&](int tensor) -> std::uint64_t {
        const Tensor& t = tensors_[tensor];
        const std::int64_t offset = t.batched ? t.step * element : 0;
        return t.begin == t.end ? 0 : t.view.address + static_cast<std::uint64_t>(offset);
    };
    if (argument.kind == ArgumentDeclaration::tensor) {
        put_pointer(kernel, index, buffer, address_of(argument.index));
    } else if (argument.kind == ArgumentDeclaration::record) {
        char* const to = static_cast<char*>(buffer) + parameter_of(kernel, index).offset;
        for (const FieldDeclaration& field : argument.fields) {
            constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
            const std::int64_t limit = most >> (64 - 8 * field.size);
            const std::uint64_t bits = field.tensor >= 0
                                           ? address_of(field.tensor)
                                           : static_cast<std::uint64_t>(value_in(
                                                 field.expression, "argument", -limit - 1, limit));
            std::memcpy(to + field.offset, &bits, field.size);  // little-endian
        }
    } else if (argument.kind == ArgumentDeclaration::scalar) {
        const cupola_op_scalar& scalar = call_.scalars[argument.index];
        if (scalar.is_real)
            put_float(kernel, index, buffer, scalar.real);
        else
            put_integer(kernel, index, buffer, static_cast<std::uint64_t>(scalar.integer),
                        scalar.integer < 0);
    } else {
        const std::int64_t value = value_of(argument.expression, "argument");
        put_integer(kernel, index, buffer, static_cast<std::uint64_t>(value), value < 0);
    }
}

Stream& OperationCall::stream_of(const cupola_op_call& call, Context& context) {
    if (call.stream) return *unwrap(call.stream);
    if (call.has_handle) return stream_of_handle(context, static_cast<CUstream>(call.handle));
    return current_stream(context);
}

bool OperationCall::configure(Kernel& kernel, cupola_dimensions& d, cupola_attributes& a) const {
    if (!dimensions(d)) return false;
    if (declaration_.has_attributes) attributes(a);
    with_name(declaration_.name,
              [&] { kernel.check_launch(d, declaration_.has_attributes ? &a : nullptr); });
    return true;
}

void OperationCall::queue(Kernel& kernel, Stream& stream) {
    cupola_dimensions d{};
    cupola_attributes a{};
    if (!configure(kernel, d, a)) return;
    const cupola_attributes* const given = declaration_.has_attributes ? &a : nullptr;
    alignas(16) char buffer[max_parameter_bytes];
    const bool loops = call_.batched && declaration_.batch == Declaration::loop;
    const std::int64_t launches = loops ? call_.batch : 1;
    std::memset(buffer, 0, kernel.parameter_bytes);  // padding must not leak stack contents
    with_name(declaration_.name, [&] {
        for (std::int64_t element = 0; element < launches; ++element) {
            for (std::size_t i = 0; i < declaration_.arguments.size(); ++i)
                if (!element || declaration_.arguments[i].has_tensor())
                    put(kernel, i, buffer, element);
            kernel.launch(d, given, buffer, stream);
        }
    });
}

void OperationCall::launch(Kernel& kernel) {
    Stream& queued = stream_of(call_, kernel.context);
    if (!on_host_) return queue(kernel, queued);
    Capture::refuse(queued,
                    "used for arrays of the host, which the call waits for; "
                    "pass device arrays, such as those of cupola.to_device(array)");
    HostRange ranges[Declaration::max_tensors];
    std::size_t count = 0;
    for (std::size_t i = 0; i < declaration_.tensors.size(); ++i) {
        const Tensor& t = tensors_[i];
        if (t.given && t.begin != t.end)
            ranges[count++] = {t.begin, t.end, declaration_.tensors[i].is_written()};
    }
    const HostScope scope(kernel.context, ranges, count);
    queue(kernel, queued);
    synchronize(queued);
}

}  // namespace cupola
