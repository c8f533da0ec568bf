// csrc/cpu/interpreter/decoded_origin.cpp - finds the handler of an instruction.
#include "cpu/interpreter/decoded_origin.hpp"

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

}  // namespace

Handler find_handler(Origin& origin) {
    origin.key.modifiers = with_rounding(origin.form.form(), origin.key.modifiers);
    Key key = origin.key;
    key.by_lane = &origin.by_lane;
    return isa().find(origin.form, key);
}

}  // namespace cupola::cpu::interpreter
