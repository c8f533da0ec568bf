// csrc/cpu/exec/image.cpp - a PTX module bound to memory: variables placed, kernels decoded.
#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>
#include <utility>

#include "cpu/exec/decode.hpp"
#include "ptx/error.hpp"
#include "ptx/lexer.hpp"

namespace cupola::cpu {
namespace exec {
namespace {

// Blocks of memory that are given back when the last use is gone.
class Blocks {
  public:
    explicit Blocks(Image::Memory memory) : memory_(std::move(memory)) {}
    Blocks(const Blocks&) = delete;
    Blocks& operator=(const Blocks&) = delete;
    ~Blocks() {
        for (void* p : held_) memory_.release(p);
    }
    void* allocate(std::size_t size, std::size_t align) {
        held_.reserve(held_.size() + 1);
        void* p = memory_.allocate(size, align);
        if (p) held_.push_back(p);
        return p;
    }

  private:
    Image::Memory memory_;
    std::vector<void*> held_;
};

class ModuleImage final : public Image {
  public:
    ModuleImage(std::string_view source, Memory memory) : blocks_(std::move(memory)) {
        const ptx::Module module = ptx::parse(source);
        place(module, source);
        const CallGraph graph(module);
        HandlerCache handlers;
        for (std::uint32_t n = 0; n < module.functions.size(); ++n) {
            const ptx::Function& f = module.functions[n];
            if (!f.entry || !f.defined) continue;
            kernels_.push_back(Decoder(module, source, placement_, graph, handlers).decode(n));
        }
        for (const auto& kernel : kernels_) {
            list_.push_back(kernel.get());
            by_name_.emplace(kernel->name(), kernel.get());
        }
    }

    const std::vector<const Kernel*>& kernels() const override { return list_; }
    const Kernel* kernel(std::string_view name) const override {
        const auto at = by_name_.find(std::string(name));
        return at == by_name_.end() ? nullptr : at->second;
    }
    const std::vector<Variable>& variables() const override { return variables_; }
    const Variable* variable(std::string_view name) const override {
        for (const Variable& v : variables_)
            if (v.name == name) return &v;
        return nullptr;
    }

  private:
    void place(const ptx::Module& module, std::string_view source) {
        placement_.addresses.assign(module.variables.size(), 0);
        for (std::size_t n = 0; n < module.variables.size(); ++n) {
            const ptx::Variable& v = module.variables[n];
            if (v.space == ptx::Space::shared || v.external) continue;
            const std::size_t size = std::max<std::uint64_t>(v.size, 1);
            void* p = blocks_.allocate(size, std::max<std::uint32_t>(v.align, 16));
            if (!p)
                throw ptx::Error(ptx::Error::Kind::invalid, v.line,
                                 std::string(ptx::line_text(source, v.line)),
                                 "no memory for variable '" + v.name + "' of " +
                                     std::to_string(v.size) + " bytes");
            if (!v.init.empty())
                std::memcpy(p, v.init.data(), std::min<std::size_t>(v.init.size(), size));
            const auto at = reinterpret_cast<std::uintptr_t>(p);
            placement_.addresses[n] = at;
            const bool constant = v.space == ptx::Space::constant;
            if (constant) {
                placement_.constant_bytes += static_cast<std::uint32_t>(v.size);
                placement_.constant_ranges.push_back({at, at + size});
            }
            variables_.push_back(
                {v.name, at, static_cast<std::size_t>(v.size), constant, v.managed});
        }
        if (placement_.constant_bytes > 65536)
            throw ptx::Error(ptx::Error::Kind::invalid, 1, "",
                             "more than 64 KiB of constant memory");
        place_functions(module);
        for (std::size_t n = 0; n < module.variables.size(); ++n) relocate(module, n, source);
    }

    // A function's address is a place of its own in the module's memory, where nothing lies.
    void place_functions(const ptx::Module& module) {
        constexpr std::size_t apart = 16;
        placement_.functions.assign(module.functions.size(), 0);
        std::size_t count = 0;
        for (const ptx::Function& f : module.functions) count += f.address_taken;
        if (count == 0) return;
        void* p = blocks_.allocate(count * apart, apart);
        if (!p)
            throw ptx::Error(ptx::Error::Kind::invalid, 1, "",
                             "no memory for functions' addresses");
        auto next = reinterpret_cast<std::uintptr_t>(p);
        for (std::size_t n = 0; n < module.functions.size(); ++n) {
            if (!module.functions[n].address_taken) continue;
            placement_.functions[n] = next;
            next += apart;
        }
    }

    void relocate(const ptx::Module& module, std::size_t n, std::string_view source) {
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
                        ? "function '" + module.functions[r.function].name + "' is nowhere defined"
                        : "extern variable '" + module.variables[r.variable].name +
                              "' is nowhere defined");
            const std::uintptr_t base =
                function ? placement_.functions[r.function] : placement_.addresses[r.variable];
            const std::uint64_t value = (base + static_cast<std::uint64_t>(r.addend)) >> r.shift;
            std::memcpy(reinterpret_cast<void*>(placement_.addresses[n] + r.offset), &value,
                        r.bytes);
        }
    }

    Blocks blocks_;
    Placement placement_;
    std::vector<std::unique_ptr<KernelCode>> kernels_;
    std::vector<const Kernel*> list_;
    std::unordered_map<std::string, const Kernel*> by_name_;
    std::vector<Variable> variables_;
};

}  // namespace
}  // namespace exec

std::unique_ptr<Image> Image::build(std::string_view ptx, Memory memory) {
    return std::make_unique<exec::ModuleImage>(ptx, std::move(memory));
}

}  // namespace cupola::cpu
