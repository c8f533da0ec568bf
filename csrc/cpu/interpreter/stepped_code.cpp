// csrc/cpu/interpreter/stepped_code.cpp - copies a kernel's code so that each handler returns.
#include "cpu/interpreter/stepped_code.hpp"

#include <atomic>

namespace cupola::cpu::interpreter {
namespace {

const DecodedOp* come_back(const DecodedOp* ip, Warp&, std::byte*) { return ip; }

std::uint64_t next_number() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
}

}  // namespace

std::shared_ptr<const SteppedCode> stepped_code(const KernelCode& kernel) {
    std::call_once(kernel.stepped_once,
                   [&] { kernel.stepped = std::make_shared<const SteppedCode>(kernel); });
    return kernel.stepped;
}

SteppedCode::SteppedCode(const KernelCode& kernel) : number(next_number()), code(kernel.code) {
    for (DecodedOp& each : code) {
        handlers.push_back(each.run);
        effects.push_back(effect_of(kernel, each));
        each.run = &come_back;
    }
}

}  // namespace cupola::cpu::interpreter
