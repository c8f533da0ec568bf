// csrc/cpu/exec/origin.cpp - finds handlers, and records the instruction of each.
#include "cpu/exec/origin.hpp"

#include <mutex>
#include <unordered_map>

namespace cupola::cpu::exec {
namespace {

struct Origins {
    std::mutex mutex;
    std::unordered_map<Handler, Origin> of;
};

// At most as many as the table has instances. Never destroyed: threads outlive static objects.
Origins& origins() {
    static auto* all = new Origins;
    return *all;
}

// Where a rounding is optional and missing, the first one is the default: to nearest.
ptx::Bits with_rounding(const ptx::Form& form, ptx::Bits modifiers) {
    for (std::size_t n = 0; n < form.slots.count; ++n) {
        const ptx::ModifierSlot& axis = *form.slots.list[n];
        if (axis.rounds() && axis.field.get(modifiers) == 0)
            modifiers |= axis.field.put(axis.choices[0].value);
    }
    return modifiers;
}

}  // namespace

Handler find_handler(ptx::FormId form, Key key) {
    key.modifiers = with_rounding(form.form(), key.modifiers);
    Origin origin{form, key, false};
    key.by_lane = &origin.by_lane;
    const Handler handler = isa().find(form, key);
    if (handler) {
        Origins& all = origins();
        std::lock_guard lock(all.mutex);
        all.of.emplace(handler, origin);
    }
    return handler;
}

bool find_origin(Handler handler, Origin& origin) {
    Origins& all = origins();
    std::lock_guard lock(all.mutex);
    const auto at = all.of.find(handler);
    if (at == all.of.end()) return false;
    origin = at->second;
    return true;
}

}  // namespace cupola::cpu::exec
