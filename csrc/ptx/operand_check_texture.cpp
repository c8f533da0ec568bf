// csrc/ptx/operand_check_texture.cpp - operands of textures, surfaces and tensors.
#include "ptx/operand_check.hpp"

namespace cupola::ptx {

namespace {
using Kind = Operand::Kind;
}

Geometry OperandCheck::geometry() const {
    return static_cast<Geometry>(field::mode.get(c_.modifiers));
}

std::string OperandCheck::fetched(const Operand& o, Type type) const {
    if (o.kind != Kind::vector) return "a vector is wanted";
    if (o.second != absent && here_.function.registers[o.second] != Type::pred)
        return "the register behind '|' is no predicate";
    return vector(o, type, true);
}

// A register that holds a texture or the like, or a variable that is one.
std::string OperandCheck::handle(const Operand& o, Opaque wanted) const {
    if (o.base == Kind::reg)
        return bytes_of(o.type) == 8 && !is_float(o.type) ? "" : "a register of 64 bits is wanted";
    if (o.base == Kind::variable) {
        const Variable& v = here_.module.variables[o.index];
        if (v.opaque == wanted && !v.array) return {};
    }
    return wanted == Opaque::texture   ? "a texture is wanted"
           : wanted == Opaque::sampler ? "a sampler is wanted"
                                       : "a surface is wanted";
}

// How texels are fetched is asked of samplers, which in unified mode are a part of textures.
std::string OperandCheck::queried(const Operand& o) const {
    if (o.kind != Kind::memory) return "a texture or surface in [ ] is wanted";
    if (o.value != 0) return "an offset from a texture or surface";
    const auto query = static_cast<Query>(field::operation.get(c_.modifiers));
    if (c_.form.form().mnemonic == "suq") return handle(o, Opaque::surface);
    const bool of_sampler = asks_sampler(query) && here_.module.independent_samplers;
    // Which a texture has no answer to.
    const bool unnormalized = query == Query::force_unnormalized_coords;
    return handle(o, of_sampler || unnormalized ? Opaque::sampler : Opaque::texture);
}

unsigned OperandCheck::axes() const { return field::vector.get(c_.modifiers); }  // of a tensor

bool OperandCheck::is_sampler(const Operand& o) const {
    return o.kind == Kind::variable
               ? here_.module.variables[o.index].opaque == Opaque::sampler
               : o.kind == Kind::reg && bytes_of(o.type) == 8 && !is_float(o.type);
}

std::string OperandCheck::tensor(const Operand& o) const {
    if (o.kind != Kind::texel || o.count != 1 || o.base != Kind::reg || bytes_of(o.type) != 8)
        return "[register of 64 bits, {coordinates}] is wanted";
    const Operand& at = here_.function.operands[static_cast<std::size_t>(o.value)];
    return row(at, Type::s32, axes(), "coordinates", axes());
}

// A vector of so many as are written, of which the first count.
std::string OperandCheck::row(const Operand& o, Type type, unsigned count, const char* what,
                              unsigned written) const {
    if (o.kind != Kind::vector || o.count != written)
        return "a vector of " + std::to_string(written) + " " + what + " is wanted";
    for (unsigned n = 0; n < count; ++n) {
        std::string wrong = source(here_.function.operands[o.index + n], type, false);
        if (!wrong.empty()) return wrong;
    }
    return {};
}

std::string OperandCheck::texel(const Operand& o) const {
    if (o.kind != Kind::texel) return "[texture or surface, coordinates] is wanted";
    const bool surface = c_.form.form().types2.count == 0;
    std::string wrong = handle(o, surface ? Opaque::surface : Opaque::texture);
    if (!wrong.empty()) return wrong;
    const Operand* inner = here_.function.operands.data() + o.value;
    if (o.count == 2) {
        if (surface) return "a surface has no sampler";
        if (!here_.module.independent_samplers)
            return "a sampler of its own is for .target texmode_independent";
        if (!is_sampler(inner[0])) return "a sampler is wanted before the coordinates";
    } else if (here_.module.independent_samplers && !surface) {
        return "with .target texmode_independent a sampler is wanted before the coordinates";
    }
    const Operand& at = inner[o.count - 1];
    const Geometry g = geometry();
    // Surfaces count in integers.
    const Type type = c_.type2 == Type::none ? Type::s32 : c_.type2;
    const unsigned wanted = written_coordinates(g);
    if (at.kind != Kind::vector)
        return wanted == 1 ? source(at, type, false) : "a vector of coordinates is wanted";
    if (at.count != wanted)
        return "a vector of " + std::to_string(at.count) + " coordinates where " +
               std::to_string(wanted) + " are wanted";
    const unsigned meant = axes_of(g) + (is_layered(g) ? 1 : 0);
    for (unsigned i = 0; i < meant; ++i) {
        const Type each = i == 0 && is_layered(g) ? Type::b32 : type;
        wrong = source(here_.function.operands[at.index + i], each, false);
        if (!wrong.empty()) return wrong;
    }
    return {};
}

// A vector for 3 axes is written with 4 elements.
std::string OperandCheck::elements(const Operand& o, Type type, unsigned count) const {
    if (o.kind != Kind::vector && count == 1 && type == Type::s32) return source(o, type, false);
    return row(o, type, count, "elements", count == 3 ? 4 : count);
}

}  // namespace cupola::ptx
