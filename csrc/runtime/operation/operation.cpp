// csrc/runtime/operation/operation.cpp - binds kernels to a declaration, and checks them against
// it.
#include "runtime/operation/operation.hpp"

#include "runtime/operation/operation_call.hpp"

namespace cupola {
namespace {

constexpr std::size_t max_parameter_bytes = OperationCall::max_parameter_bytes;

}  // namespace

Operation::Operation(std::string_view bytes) : declaration_(read_declaration(bytes)) {
    for (const Declaration::Variant& variant : declaration_.variants) {
        std::string names;
        for (ElementType type : variant.types) names += (names.empty() ? "" : ", ") + name_of(type);
        types_.push_back(std::move(names));
    }
}

void Operation::check_kernel(const Kernel& kernel, std::size_t variant) const {
    const auto& arguments = declaration_.arguments;
    const auto refuse = [&](const std::string& text) {
        fail(CUPOLA_ERROR_TYPE, declaration_.name + ": kernel " + kernel.title +
                                    (types_[variant].empty() ? "" : " for " + types_[variant]) +
                                    ": " + text);
    };
    const std::size_t expected = given_count(kernel.parameters());
    if (expected != arguments.size())
        refuse("it takes " + std::to_string(expected) + " arguments, the declaration lists " +
               std::to_string(arguments.size()));
    if (kernel.parameter_bytes > max_parameter_bytes)
        refuse("its arguments have more than " + std::to_string(max_parameter_bytes) + " bytes");
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const ArgumentDeclaration& argument = arguments[i];
        const Parameter& p = kernel.parameters()[i];
        const auto mismatch = [&](const std::string& declared, const char* remedy) {
            refuse("argument " + std::to_string(i) + (p.name.empty() ? "" : " (" + p.name + ")") +
                   " is " + describe(p) + ", the declaration has " + declared + remedy);
        };
        if (argument.kind == ArgumentDeclaration::tensor) {
            const TensorDeclaration& tensor =
                declaration_.tensors[static_cast<std::size_t>(argument.index)];
            const ElementType type = tensor.variable < 0
                                         ? tensor.type
                                         : declaration_.variants[variant]
                                               .types[static_cast<std::size_t>(tensor.variable)];
            const std::string declared = "a tensor of " + name_of(type) + ", " + tensor.name;
            if (!(p.kind & CUPOLA_POINTER)) mismatch(declared, "");
            if (!suits(p.type, type)) mismatch(declared, "");
            if (tensor.is_written() && p.kind & CUPOLA_CONST)
                mismatch(declared + ", which the kernel has to write", "");
            const bool known = kernel.known_by() >= CUPOLA_KNOWN_COMPILED;
            if (!tensor.is_written() && known && !(p.kind & CUPOLA_CONST))
                mismatch(declared + ", which it only reads",
                         "; declare the parameter const, or list the input in mutates");
        } else if (argument.kind == ArgumentDeclaration::scalar) {
            const ScalarDeclaration& scalar =
                declaration_.scalars[static_cast<std::size_t>(argument.index)];
            const bool real = scalar.kind == ScalarDeclaration::real;
            if (!(p.kind & (real ? CUPOLA_FLOAT : CUPOLA_FLOAT | CUPOLA_INTEGER)))
                mismatch("the scalar " + scalar.name, "");
        } else if (argument.kind == ArgumentDeclaration::record) {
            if (!(p.kind & CUPOLA_STRUCT) || p.size != argument.size)
                mismatch("a struct of " + std::to_string(argument.size) + " bytes", "");
        } else if (!(p.kind & CUPOLA_INTEGER)) {
            mismatch("the integer " + argument.expression.text(), "");
        }
    }
}

void Operation::bind(std::size_t variant, Ref<Kernel> kernel) {
    if (variant >= declaration_.variants.size())
        fail(CUPOLA_ERROR_NOT_FOUND, declaration_.name + ": there is no kernel " +
                                         std::to_string(variant) + ": the declaration has " +
                                         std::to_string(declaration_.variants.size()));
    const auto device = static_cast<std::size_t>(kernel->context.ordinal);
    kernel->require_known();
    check_kernel(*kernel, variant);
    std::lock_guard<std::mutex> lock(mutex_);
    const Kernels* now = kernels_[device].load(std::memory_order_relaxed);
    auto list = now ? std::make_unique<Kernels>(*now)
                    : std::make_unique<Kernels>(declaration_.variants.size());
    (*list)[variant] = std::move(kernel);
    kernels_[device].store(list.get(), std::memory_order_release);
    lists_.push_back(std::move(list));
}

bool Operation::bound(std::size_t variant, int device) const {
    if (device < 0 || device >= max_ordinals) return false;
    const Kernels* list =
        kernels_[static_cast<std::size_t>(device)].load(std::memory_order_acquire);
    return list && variant < list->size() && (*list)[variant];
}

std::size_t Operation::variant_for(const ElementType* types) const {
    const auto& variants = declaration_.variants;
    for (std::size_t variant = 0; variant < variants.size(); ++variant) {
        const auto& wanted = variants[variant].types;
        bool same = true;
        for (std::size_t v = 0; v < wanted.size(); ++v) same &= wanted[v] == types[v];
        if (same) return variant;
    }
    std::string given, known;
    for (std::size_t v = 0; v < declaration_.variables.size(); ++v)
        given += (v ? ", " : "") + declaration_.variables[v] + " = " + name_of(types[v]);
    for (const std::string& one : types_) known += (known.empty() ? "" : "; ") + one;
    fail(CUPOLA_ERROR_TYPE, declaration_.name + ": there is no kernel for " + given +
                                "; there are kernels for " + known);
}

Kernel& Operation::kernel_of(std::size_t variant, int device) const {
    if (!bound(variant, device))
        fail(CUPOLA_ERROR_NOT_FOUND, declaration_.name + ": no kernel" +
                                         (types_[variant].empty() ? "" : " for ") +
                                         types_[variant] + " is bound for " + device_text(device));
    return *(*kernels_[static_cast<std::size_t>(device)].load(std::memory_order_acquire))[variant];
}

void Operation::call(const cupola_op_call& call) {
    OperationCall checked(declaration_, call);
    checked.launch(kernel_of(variant_for(checked.types()), checked.device()));
}

}  // namespace cupola
