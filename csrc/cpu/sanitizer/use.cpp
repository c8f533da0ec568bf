// csrc/cpu/sanitizer/use.cpp - classifies instructions by their table row.
#include "cpu/sanitizer/use.hpp"

#include "cpu/interpreter/control.hpp"
#include "cpu/interpreter/kernel.hpp"

namespace cupola::cpu::sanitizer {
namespace {

using interpreter::DecodedOp;
using Kind = Use::Kind;

bool begins_with(std::string_view text, std::string_view with) {
    return text.substr(0, with.size()) == with;
}

Kind kind_of(std::string_view mnemonic) {
    if (mnemonic == "ld" || mnemonic == "ld.global" || mnemonic == "ldu") return Kind::load;
    if (mnemonic == "st") return Kind::store;
    if (mnemonic == "atom" || mnemonic == "red") return Kind::atomic;
    if (begins_with(mnemonic, "membar") || begins_with(mnemonic, "fence")) return Kind::fence;
    if (mnemonic == "bar.warp.sync") return Kind::warp_barrier;
    if (begins_with(mnemonic, "cp.reduce")) return Kind::bulk_atomic;
    for (const std::string_view name : {"shfl.sync", "vote.", "match.", "redux.sync", "elect.sync"})
        if (begins_with(mnemonic, name)) return Kind::warp_operation;
    return Kind::none;
}

std::uint8_t members_of(std::string_view mnemonic) {
    if (mnemonic == "bar.warp.sync") return 0;
    if (mnemonic == "shfl.sync") return 5;
    return mnemonic == "match.all.sync" ? 3 : 2;
}

}  // namespace

Use use_of(const interpreter::KernelCode& kernel, const DecodedOp& code) {
    Use use;
    const interpreter::ClusterControl& cluster = interpreter::cluster_control;
    if (code.run == cluster.arrive || code.run == cluster.wait) {
        use.kind = code.run == cluster.arrive ? Kind::cluster_arrive : Kind::cluster_wait;
        return use;
    }
    const interpreter::Origin* const origin = kernel.origin_of(code);
    if (!origin) return use;
    const std::string_view mnemonic = origin->form.form().mnemonic;
    use.kind = kind_of(mnemonic);
    use.bytes = static_cast<std::uint8_t>(ptx::bytes_of(origin->key.type));
    if (use.kind == Kind::warp_barrier || use.kind == Kind::warp_operation)
        use.members = members_of(mnemonic);
    return use;
}

}  // namespace cupola::cpu::sanitizer
