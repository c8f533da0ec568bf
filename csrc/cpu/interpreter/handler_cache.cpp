// csrc/cpu/interpreter/handler_cache.cpp - finds the handler of an instruction.
#include "cpu/interpreter/handler_cache.hpp"

#include "cpu/interpreter/host_isa.hpp"
#include "ptx/match.hpp"

namespace cupola::cpu::interpreter {
namespace {

// Where a rounding is optional and missing, the first one is the default: to nearest.
ptx::Bits with_rounding(const ptx::Form& form, ptx::Bits modifiers) {
    for (std::size_t n = 0; n < form.slots.count; ++n) {
        const ptx::ModifierSlot& axis = *form.slots.list[n];
        if (axis.rounds() && axis.field.get(modifiers) == 0)
            modifiers |= axis.field.put(axis.choices[0].value);
    }
    return modifiers;
}

// Finds a handler for this processor, or null, and completes the origin.
Handler find_handler(Origin& origin) {
    origin.key.modifiers = with_rounding(origin.form.form(), origin.key.modifiers);
    Key key = origin.key;
    key.by_lane = &origin.by_lane;
    return isa().find(origin.form, key);
}

}  // namespace

BoundHandler HandlerCache::find(ptx::FormId form, const Key& key) {
    const auto types = static_cast<std::uint32_t>(form.value) << 16 |
                       static_cast<std::uint32_t>(key.type) << 8 |
                       static_cast<std::uint32_t>(key.type2);
    const auto [at, fresh] = known_[types].emplace(key.modifiers, BoundHandler());
    if (fresh) {
        Origin origin{form, key};
        at->second.run = find_handler(origin);
        origins_.push_back(origin);
        at->second.origin = static_cast<std::uint32_t>(origins_.size());
    }
    return at->second;
}

BoundHandler HandlerCache::find(std::string_view opcode) {
    const auto at = spelled_.find(opcode);
    if (at != spelled_.end()) return at->second;
    const ptx::Candidate c = ptx::match(opcode).at(0);
    return spelled_[std::string(opcode)] = find(c.form, Key{c.type, c.type2, c.modifiers});
}

}  // namespace cupola::cpu::interpreter
