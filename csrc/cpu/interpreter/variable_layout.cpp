// csrc/cpu/interpreter/variable_layout.cpp - allocates and initializes a module's variables.
#include "cpu/interpreter/variable_layout.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "ptx/error.hpp"
#include "ptx/lexer.hpp"

namespace cupola::cpu::interpreter {

namespace {
constexpr std::size_t apart = 16;  // distance between addresses of functions
}

static_assert(static_cast<int>(Variable::Role::surface) == static_cast<int>(ptx::Opaque::surface) &&
                  static_cast<int>(Variable::Role::texture) ==
                      static_cast<int>(ptx::Opaque::texture),
              "what a variable is has the same numbers on both sides");

void VariableLayout::lay_out_variables(const ptx::Module& module, std::string_view source,
                                       bool every) {
    place_functions(module, every);
    place_variables(placement_, module, source);
    for (std::size_t n = 0; n < module.variables.size(); ++n) {
        const ptx::Variable& v = module.variables[n];
        if (placement_.addresses[n])
            variables_.push_back({v.name, placement_.addresses[n], static_cast<std::size_t>(v.size),
                                  v.space == ptx::Space::constant, v.managed,
                                  static_cast<Variable::Role>(v.opaque)});
    }
}

Placement VariableLayout::extended(const ptx::Module& module, std::string_view source) {
    Placement all = placement_;
    const std::size_t placed = all.functions.size();
    all.functions.resize(std::max(placed, module.functions.size()), 0);
    for (std::size_t n = placed; n < module.functions.size(); ++n)
        if (module.functions[n].address_taken)
            all.functions[n] = kernel_address(module.functions[n].name);
    place_variables(all, module, source);
    return all;
}

// Every text that names a kernel gets the same address for this kernel.
std::uintptr_t VariableLayout::kernel_address(const std::string& name) {
    const auto [at, fresh] = kernels_.emplace(name, 0);
    if (fresh) at->second = reinterpret_cast<std::uintptr_t>(blocks_.allocate(apart, apart));
    if (at->second == 0)
        throw ptx::Error(ptx::Error::Kind::invalid, 1, "",
                         "no memory for the address of kernel '" + name + "'");
    return at->second;
}

std::string VariableLayout::kernel_at(std::uint64_t address) const {
    for (const auto& [name, at] : kernels_)
        if (at == address) return name;
    return {};
}

const Variable* VariableLayout::variable(std::string_view name) const {
    for (const Variable& v : variables_)
        if (v.name == name) return &v;
    return nullptr;
}

void VariableLayout::place_variables(Placement& placement, const ptx::Module& module,
                                     std::string_view source) {
    const std::size_t first = placement.addresses.size();
    placement.addresses.resize(std::max(first, module.variables.size()), 0);
    for (std::size_t n = first; n < module.variables.size(); ++n) {
        const ptx::Variable& v = module.variables[n];
        if (v.space == ptx::Space::shared || v.external) continue;
        const std::size_t size = std::max<std::uint64_t>(v.size, 1);
        void* p = blocks_.allocate(size, std::max<std::uint32_t>(v.align, 16));
        if (!p)
            throw ptx::Error(
                ptx::Error::Kind::invalid, v.line, std::string(ptx::line_text(source, v.line)),
                "no memory for variable '" + v.name + "' of " + std::to_string(v.size) + " bytes");
        if (!v.init.empty())
            std::memcpy(p, v.init.data(), std::min<std::size_t>(v.init.size(), size));
        const auto at = reinterpret_cast<std::uintptr_t>(p);
        placement.addresses[n] = at;
        if (v.space == ptx::Space::constant) {
            placement.constant_bytes += static_cast<std::uint32_t>(v.size);
            placement.constant_ranges.push_back({at, at + size});
        }
    }
    if (placement.constant_bytes > 65536)
        throw ptx::Error(ptx::Error::Kind::invalid, 1, "",
                         "the module needs more than 64 KiB of constant memory");
    for (std::size_t n = first; n < module.variables.size(); ++n)
        relocate(placement, module, n, source);
}

// A function's address is an unused address in the module's memory.
void VariableLayout::place_functions(const ptx::Module& module, bool every) {
    placement_.functions.assign(module.functions.size(), 0);
    std::size_t count = 0;
    for (const ptx::Function& f : module.functions) count += every || f.address_taken;
    if (count == 0) return;
    void* p = blocks_.allocate(count * apart, apart);
    if (!p)
        throw ptx::Error(ptx::Error::Kind::invalid, 1, "", "no memory for functions' addresses");
    auto next = reinterpret_cast<std::uintptr_t>(p);
    for (std::size_t n = 0; n < module.functions.size(); ++n) {
        if (!every && !module.functions[n].address_taken) continue;
        placement_.functions[n] = next;
        if (module.functions[n].entry) kernels_.emplace(module.functions[n].name, next);
        next += apart;
    }
}

void VariableLayout::relocate(const Placement& placement, const ptx::Module& module, std::size_t n,
                              std::string_view source) {
    const ptx::Variable& v = module.variables[n];
    for (const ptx::Relocation& r : v.relocations) {
        const bool function = r.function != ptx::absent;
        const bool missing = function ? !module.functions[r.function].defined
                                      : module.variables[r.variable].external;
        if (missing)
            throw ptx::Error(
                ptx::Error::Kind::unresolved_extern, v.line,
                std::string(ptx::line_text(source, v.line)),
                function
                    ? "function '" + module.functions[r.function].name + "' is not defined"
                    : "extern variable '" + module.variables[r.variable].name + "' is not defined");
        const std::uintptr_t base =
            function ? placement.functions[r.function] : placement.addresses[r.variable];
        if (r.offset > v.size || r.bytes > v.size - r.offset)
            throw ptx::Error(ptx::Error::Kind::invalid, v.line,
                             std::string(ptx::line_text(source, v.line)),
                             "variable '" + v.name + "' of " + std::to_string(v.size) +
                                 " bytes is too small for the addresses in its initialiser");
        const std::uint64_t value = (base + static_cast<std::uint64_t>(r.addend)) >> r.shift;
        std::memcpy(reinterpret_cast<void*>(placement.addresses[n] + r.offset), &value, r.bytes);
    }
}

}  // namespace cupola::cpu::interpreter
