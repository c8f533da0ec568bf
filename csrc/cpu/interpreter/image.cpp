// csrc/cpu/interpreter/image.cpp - loads a PTX module: allocates variables, decodes kernels.
#include <string>
#include <unordered_map>
#include <utility>

#include "cpu/interpreter/decode.hpp"
#include "cpu/interpreter/variable_layout.hpp"
#include "cpu/observe/observer.hpp"
#include "ptx/contract_fma.hpp"
#include "ptx/error.hpp"

namespace cupola::cpu {
namespace interpreter {
namespace {

class ModuleImage final : public Image {
  public:
    ModuleImage(std::string_view source, Memory memory)
        : placed_(std::move(memory)), source_(source) {
        ptx::Module module = ptx::parse(source);
        ptx::contract_fma(module);
        placed_.lay_out_variables(module, source);
        const CallGraph graph(module);
        HandlerCache handlers;
        const auto counters = observe::counters_of(module, source);
        const DecodedModule shared{module, source, placed_.placement(), graph, handlers, counters};
        for (std::uint32_t n = 0; n < module.functions.size(); ++n) {
            const ptx::Function& f = module.functions[n];
            if (!f.entry || !f.defined) continue;
            kernels_.push_back(interpreter::decode(shared, n));
        }
        for (const auto& kernel : kernels_) {
            kernel->source = source_;
            list_.push_back(kernel.get());
            by_name_.emplace(kernel->name(), kernel.get());
        }
    }

    const std::vector<const Kernel*>& kernels() const override { return list_; }
    const Kernel* kernel(std::string_view name) const override {
        const auto at = by_name_.find(std::string(name));
        return at == by_name_.end() ? nullptr : at->second;
    }
    const std::vector<Variable>& variables() const override { return placed_.variables(); }
    std::string kernel_at(std::uint64_t address) const override {
        return placed_.kernel_at(address);
    }
    const Variable* variable(std::string_view name) const override {
        return placed_.variable(name);
    }

  private:
    VariableLayout placed_;
    // A copy of the text for the source lines of faults, and for debuggers.
    const std::string source_;
    // A thread that compiles may hold a kernel longer than the image lives.
    std::vector<std::shared_ptr<KernelCode>> kernels_;
    std::vector<const Kernel*> list_;
    std::unordered_map<std::string, const Kernel*> by_name_;
};

}  // namespace
}  // namespace interpreter

std::unique_ptr<Image> Image::build(std::string_view ptx, Memory memory) {
    return std::make_unique<interpreter::ModuleImage>(ptx, std::move(memory));
}

}  // namespace cupola::cpu
