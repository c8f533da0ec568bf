// csrc/cpu/exec/origin.cpp - handlers and the instructions that they were found for.
#include "cpu/exec/origin.hpp"

#include <mutex>
#include <unordered_map>

namespace cupola::cpu::exec {
namespace {

struct Origins {
    std::mutex mutex;
    std::unordered_map<Handler, Origin> of;
};

// As many as the table has instances, at most. Never destroyed: threads outlive static objects.
Origins& origins() {
    static auto* all = new Origins;
    return *all;
}

// What names no rounding, where it might, has the first one that there is: to nearest.
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
