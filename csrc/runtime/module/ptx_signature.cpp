// csrc/runtime/module/ptx_signature.cpp - kernels and their parameters, as PTX declares them.
//
// Without a manifest, only PTX distinguishes floats from integers. The text is untrusted.
#include "ptx/declared_kernels.hpp"
#include "runtime/module/parameter.hpp"

namespace cupola {
namespace {

constexpr std::uint64_t max_bytes = 1 << 16;  // more than any kernel's parameters have

// All kinds that a value of the type can have; 0 where no parameter of a kernel has the type.
std::uint32_t kinds_of(ptx::Type type) {
    const std::uint32_t bytes = ptx::bytes_of(type);
    const std::uint32_t address = bytes == 8 ? CUPOLA_POINTER : 0;
    if (type == ptx::Type::f16 || type == ptx::Type::f32 || type == ptx::Type::f64)
        return CUPOLA_FLOAT;
    // nvcc writes .u32 for int too: the sign is unknown.
    if (ptx::is_integer(type)) return CUPOLA_INTEGER | address;
    if (ptx::is_bits(type) && bytes <= 8)
        return kinds_of_size(bytes) & ~std::uint32_t(CUPOLA_STRUCT);
    return 0;
}

bool convert(const ptx::DeclaredParameter& declared, Parameter& out, std::uint64_t& align) {
    out.kind = kinds_of(declared.type);
    if (!out.kind || declared.count > max_bytes) return false;
    const std::uint64_t size = ptx::bytes_of(declared.type) * declared.count;
    if (size == 0 || size > max_bytes || declared.align > max_bytes) return false;
    out.size = static_cast<std::uint32_t>(size);
    if (declared.pointer) out.kind = CUPOLA_POINTER;
    if (declared.array) out.kind = CUPOLA_STRUCT;
    align = declared.align ? declared.align : declared.array ? 1 : size;
    return true;
}

bool convert_all(const ptx::DeclaredKernels& kernels, std::vector<Parameter>& parameters) {
    std::vector<ptx::DeclaredParameter> declared;
    if (!kernels.parameters(declared)) return false;
    parameters.clear();
    std::uint64_t offset = 0;
    for (const ptx::DeclaredParameter& each : declared) {
        Parameter parameter;
        std::uint64_t align = 1;
        if (!convert(each, parameter, align)) return false;
        offset = (offset + align - 1) / align * align;
        parameter.offset = static_cast<std::uint32_t>(offset);
        offset += parameter.size;
        if (offset > max_bytes) return false;
        parameters.push_back(std::move(parameter));
    }
    return true;
}

}  // namespace

bool from_ptx(std::string_view ptx, std::string_view kernel, std::vector<Parameter>& parameters) {
    for (ptx::DeclaredKernels kernels(ptx); kernels.next();)
        if (kernels.name() == kernel) return convert_all(kernels, parameters);
    return false;
}

std::vector<PtxKernel> kernels_of(std::string_view ptx) {
    std::vector<PtxKernel> found;
    for (ptx::DeclaredKernels kernels(ptx); kernels.next();) {
        PtxKernel& kernel = found.emplace_back();
        kernel.name = kernels.name();
        kernel.known = convert_all(kernels, kernel.parameters);
        if (!kernel.known) kernel.parameters.clear();
    }
    return found;
}

std::vector<std::string> entries_of(std::string_view ptx) {
    std::vector<std::string> names;
    for (ptx::DeclaredKernels kernels(ptx); kernels.next();) names.emplace_back(kernels.name());
    return names;
}

}  // namespace cupola
