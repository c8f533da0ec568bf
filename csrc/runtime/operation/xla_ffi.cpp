// csrc/runtime/operation/xla_ffi.cpp - reads XLA's call frames.
#include "runtime/operation/xla_ffi.hpp"

#include <charconv>
#include <cstring>
#include <string_view>

#include "runtime/array/dlpack.hpp"
#include "runtime/operation/registry.hpp"
#include "runtime/operation/xla_abi.hpp"

namespace cupola {
namespace {

// XLA's numbers of element types.
constexpr struct {
    std::int32_t number;
    std::string_view name;
} xla_types[] = {
    {1, "bool"},
    {2, "int8"},
    {3, "int16"},
    {4, "int32"},
    {5, "int64"},
    {6, "uint8"},
    {7, "uint16"},
    {8, "uint32"},
    {9, "uint64"},
    {10, "float16"},
    {11, "float32"},
    {12, "float64"},
    {15, "complex64"},
    {16, "bfloat16"},
    {18, "complex128"},
    {19, "float8_e5m2"},
    {20, "float8_e4m3fn"},
    {23, "float8_e4m3b11fnuz"},
    {24, "float8_e5m2fnuz"},
    {25, "float8_e4m3fnuz"},
    {28, "float8_e4m3"},
    {29, "float8_e3m4"},
    {33, "float8_e8m0fnu"},
};

ElementType type_of_xla(std::int32_t number) {
    for (const auto& row : xla_types)
        if (row.number == number) return element_type_of(row.name);
    fail(CUPOLA_ERROR_TYPE,
         "no operation takes elements of XLA's type number " + std::to_string(number));
}

class XlaCall {
  public:
    XlaCall(const xla::CallFrame& frame, XlaMemory memory) : frame_(frame), memory_(memory) {}

    void run() {
        const std::string_view name = text("cupola_operation");
        Operation& operation = registered_operation(name);
        const Declaration& declaration = operation.declaration();
        const std::size_t operands = read_tensors(declaration);
        read_stream(name);
        read_scalars(declaration, operands);
        cupola_op_call call{};
        call.size = sizeof call;
        call.tensors = given_;
        call.tensor_count = declaration.tensors.size();
        call.scalars = scalars_;
        call.scalar_count = declaration.scalars.size();
        unsigned char batched[Declaration::max_tensors] = {};
        if (find("cupola_batched")) {
            const std::string_view flags = text("cupola_batched");
            if (flags.size() != declaration.tensors.size()) wrong("cupola_batched");
            for (std::size_t i = 0; i < flags.size(); ++i) batched[i] = flags[i] == '1';
            call.batched = batched;
            call.batch = number("cupola_batch");
        }
        if (memory_ != XlaMemory::host) {
            call.handle = stream_;
            call.has_handle = 1;
        }
        operation.call(call);
    }

  private:
    [[noreturn]] static void wrong(const char* attribute) {
        fail(CUPOLA_ERROR_VALUE,
             std::string("XLA's call lacks the attribute ") + attribute + ", or it is wrong");
    }

    const void* find(std::string_view name, std::int32_t* type = nullptr) const {
        const xla::Attributes& all = frame_.attributes;
        for (std::int64_t i = 0; i < all.size; ++i) {
            if (std::string_view(all.names[i]->data, all.names[i]->size) != name) continue;
            if (type) *type = all.types[i];
            return all.values[i];
        }
        return nullptr;
    }

    std::string_view text(const char* name) const {
        std::int32_t type = 0;
        const auto* found = static_cast<const xla::Bytes*>(find(name, &type));
        if (!found || type != xla::string_attribute) wrong(name);
        return {found->data, found->size};
    }

    std::int64_t number(const char* name) const {
        std::int32_t type = 0;
        const auto* found = static_cast<const xla::Scalar*>(find(name, &type));
        if (!found || type != xla::scalar_attribute || found->type != xla::s64) wrong(name);
        return *static_cast<const std::int64_t*>(found->value);
    }

    // Returns how many of the call's arguments are inputs. Scalars follow them.
    std::size_t read_tensors(const Declaration& declaration) {
        const std::string_view given = text("cupola_given");
        std::size_t inputs = 0, argument = 0, result = 0;
        for (const TensorDeclaration& one : declaration.tensors)
            inputs += one.role == TensorDeclaration::input;
        if (given.size() != inputs) wrong("cupola_given");
        // A mutated input is the result that aliases it: XLA may have copied the input to it.
        for (std::size_t i = 0; i < declaration.tensors.size(); ++i) {
            const TensorDeclaration& one = declaration.tensors[i];
            if (one.role != TensorDeclaration::input) continue;
            if (given[i] != '1') continue;
            const std::size_t at = argument++;
            if (!one.mutated) put(i, frame_.arguments, at);
        }
        for (std::size_t i = 0; i < declaration.tensors.size(); ++i)
            if (declaration.tensors[i].role == TensorDeclaration::output)
                put(i, frame_.results, result++);
        for (std::size_t i = 0; i < inputs; ++i)
            if (declaration.tensors[i].mutated && given[i] == '1') put(i, frame_.results, result++);
        for (std::size_t i = 0; i < declaration.tensors.size(); ++i)
            if (declaration.tensors[i].role == TensorDeclaration::workspace)
                put(i, frame_.results, result++);
        if (static_cast<std::int64_t>(argument) > frame_.arguments.size ||
            static_cast<std::int64_t>(result) != frame_.results.size)
            fail(CUPOLA_ERROR_TYPE,
                 declaration.name + ": XLA's call has " + std::to_string(frame_.arguments.size) +
                     " arguments and " + std::to_string(frame_.results.size) + " results, not " +
                     std::to_string(argument) + " and " + std::to_string(result));
        return argument;
    }

    void put(std::size_t index, const xla::Arguments& from, std::size_t at) {
        if (static_cast<std::int64_t>(at) >= from.size || from.types[at] != xla::buffer_type)
            fail(CUPOLA_ERROR_TYPE, "XLA's call has too few buffers");
        const auto& buffer = *static_cast<const xla::Buffer*>(from.values[at]);
        const ElementType type = type_of_xla(buffer.type);
        dlpack::Tensor& tensor = tensors_[index];
        tensor = {};
        tensor.data = buffer.data;
        tensor.device = {memory_ == XlaMemory::host ? 1 : 2, device_of(buffer.data)};
        tensor.ndim = static_cast<std::int32_t>(buffer.rank);
        tensor.type = {type.code, type.bits, 1};
        tensor.shape = buffer.dims;
        given_[index] = &tensor;
    }

    // All buffers of a call are on one device: that of the first that has an address.
    int device_of(const void* data) {
        if (memory_ == XlaMemory::host) return 0;
        if (device_ >= 0 || !data) return device_ >= 0 ? device_ : 0;
        const auto address = static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(data));
        CUPOLA_CALL(main_driver(), cuPointerGetAttribute, &device_,
                    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address);
        return device_;
    }

    void read_stream(std::string_view name) {
        if (memory_ == XlaMemory::host) return;
        xla::StreamGet get{sizeof get, nullptr, frame_.context, nullptr};
        if (frame_.api->stream_get(&get))
            fail(CUPOLA_ERROR_INTERNAL, std::string(name) + ": XLA gave no stream");
        stream_ = get.stream;
    }

    void read_scalars(const Declaration& declaration, std::size_t argument) {
        std::string_view text = this->text("cupola_scalars");
        struct Operand {
            std::size_t scalar;
            std::int32_t type;
            unsigned char bytes[8];
        } operands[Declaration::max_scalars];
        std::size_t count = 0;
        for (std::size_t i = 0; i < declaration.scalars.size(); ++i) {
            const bool real = declaration.scalars[i].kind == ScalarDeclaration::real;
            if (!text.empty() && text[0] == 'o') {
                text.remove_prefix(1);
                Operand& one = operands[count++];
                one.scalar = i;
                one.type = copy_operand(argument++, real, one.bytes);
                continue;
            }
            std::uint64_t bits = 0;
            constexpr std::size_t digits = 16;
            if (text.size() <= digits || text[0] != '=' ||
                std::from_chars(text.data() + 1, text.data() + 1 + digits, bits, 16).ptr !=
                    text.data() + 1 + digits)
                wrong("cupola_scalars");
            text.remove_prefix(1 + digits);
            scalars_[i] = scalar_of(&bits, real ? xla::f64 : xla::s64, real);
        }
        if (!text.empty()) wrong("cupola_scalars");
        if (static_cast<std::int64_t>(argument) != frame_.arguments.size)
            fail(CUPOLA_ERROR_TYPE, declaration.name + ": XLA's call has " +
                                        std::to_string(frame_.arguments.size) + " arguments, not " +
                                        std::to_string(argument));
        if (memory_ == XlaMemory::cuda_operands)
            CUPOLA_CALL(main_driver(), cuStreamSynchronize, static_cast<CUstream>(stream_));
        for (std::size_t k = 0; k < count; ++k) {
            const bool real =
                declaration.scalars[operands[k].scalar].kind == ScalarDeclaration::real;
            scalars_[operands[k].scalar] = scalar_of(operands[k].bytes, operands[k].type, real);
        }
    }

    // Copies an operand's value, from a GPU in the order of XLA's stream. Returns its type. Two
    // numbers of uint32 are the bits of a double or an int64_t.
    std::int32_t copy_operand(std::size_t at, bool real, void* to) {
        if (static_cast<std::int64_t>(at) >= frame_.arguments.size ||
            frame_.arguments.types[at] != xla::buffer_type)
            fail(CUPOLA_ERROR_TYPE, "XLA's call has too few buffers");
        const auto& buffer = *static_cast<const xla::Buffer*>(frame_.arguments.values[at]);
        const bool bits = buffer.type == xla::u32 && buffer.rank == 1 && buffer.dims[0] == 2;
        if (!bits && buffer.rank != 0) wrong("cupola_scalars");
        const std::int32_t type = !bits ? buffer.type : real ? xla::f64 : xla::s64;
        const std::size_t size = type == xla::pred                                          ? 1
                                 : type == xla::s32 || type == xla::u32 || type == xla::f32 ? 4
                                                                                            : 8;
        if (memory_ == XlaMemory::host)
            std::memcpy(to, buffer.data, size);
        else
            CUPOLA_CALL(main_driver(), cuMemcpyDtoHAsync, to,
                        static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(buffer.data)),
                        size, static_cast<CUstream>(stream_));
        return type;
    }

    static cupola_op_scalar scalar_of(const void* bytes, std::int32_t type, bool real) {
        cupola_op_scalar value{};
        value.is_real = real;
        const auto set = [&](auto number) {
            std::memcpy(&number, bytes, sizeof number);
            if (real)
                value.real = static_cast<double>(number);
            else
                value.integer = static_cast<std::int64_t>(number);
        };
        switch (type) {
            case xla::pred:
                set(std::uint8_t{});
                break;
            case xla::s32:
                set(std::int32_t{});
                break;
            case xla::u32:
                set(std::uint32_t{});
                break;
            case xla::s64:
                set(std::int64_t{});
                break;
            case xla::u64: {
                set(std::uint64_t{});
                if (!real && value.integer < 0)
                    fail(CUPOLA_ERROR_VALUE, "a scalar of uint64 is outside of the range of int64");
                break;
            }
            case xla::f32:
                if (!real) wrong("cupola_scalars");
                set(float{});
                break;
            case xla::f64:
                if (!real) wrong("cupola_scalars");
                set(double{});
                break;
            default:
                wrong("cupola_scalars");
        }
        return value;
    }

    const xla::CallFrame& frame_;
    const XlaMemory memory_;
    void* stream_ = nullptr;  // XLA's, of a GPU
    int device_ = -1;
    dlpack::Tensor tensors_[Declaration::max_tensors];
    const void* given_[Declaration::max_tensors] = {};
    cupola_op_scalar scalars_[Declaration::max_scalars];
};

}  // namespace

void* call_by_xla(void* call_frame, XlaMemory memory) noexcept {
    const auto& frame = *static_cast<const xla::CallFrame*>(call_frame);
    if (frame.extension && frame.extension->type == xla::metadata_extension) {
        xla::Metadata& metadata =
            *reinterpret_cast<xla::MetadataExtension*>(frame.extension)->metadata;
        // jaxlib 0.5 passes no API here. It takes handlers of its own version, which is 0.1.
        metadata.version.major = frame.api ? frame.api->version.major : 0;
        metadata.version.minor = frame.api ? frame.api->version.minor : 1;
        metadata.traits = memory == XlaMemory::cuda ? xla::command_buffer_compatible : 0;
        return nullptr;
    }
    const int status = guard([&] {
        require_drivers();  // a forked child must not get further
        XlaCall(frame, memory).run();
    });
    if (status == CUPOLA_SUCCESS) return nullptr;
    const bool argument = status == CUPOLA_ERROR_VALUE || status == CUPOLA_ERROR_TYPE;
    xla::ErrorCreate error{sizeof error, nullptr, last_error().text.c_str(),
                           argument ? xla::invalid_argument : xla::internal_error};
    return frame.api->error_create(&error);
}

}  // namespace cupola
