// csrc/ptx/operand_check_texture.cpp - checks operands of textures, surfaces and tensors.
#include "ptx/operand_check.hpp"

namespace cupola::ptx {

namespace {
using Kind = Operand::Kind;
}

Geometry OperandCheck::geometry() const {
    return static_cast<Geometry>(field::mode.get(c_.modifiers));
}

std::string OperandCheck::fetched(const Operand& o, Type type) const {
    if (o.kind != Kind::vector) return "expected a vector";
    if (o.second != absent && here_.function.registers[o.second] != Type::pred)
        return "expected a predicate after '|'";
    return vector(o, type, true);
}

// A register with a texture, sampler or surface handle, or such a variable.
std::string OperandCheck::handle(const Operand& o, Opaque wanted) const {
    if (o.base == Kind::reg)
        return bytes_of(o.type) == 8 && !is_float(o.type) ? "" : "expected a register of 64 bits";
    if (o.base == Kind::variable) {
        const Variable& v = here_.module.variables[o.index];
        if (v.opaque == wanted && !v.array) return {};
    }
    return wanted == Opaque::texture   ? "expected a texture"
           : wanted == Opaque::sampler ? "expected a sampler"
                                       : "expected a surface";
}

// Filter properties belong to samplers, which in unified mode are part of textures.
std::string OperandCheck::queried(const Operand& o) const {
    if (o.kind != Kind::memory) return "expected a texture or surface in [ ]";
    if (o.value != 0) return "a texture or surface cannot have an offset";
    const auto query = static_cast<Query>(field::operation.get(c_.modifiers));
    if (c_.form.opcode() == Opcode::suq) return handle(o, Opaque::surface);
    const bool of_sampler = asks_sampler(query) && here_.module.independent_samplers;
    // A texture does not have the property that the instruction queries.
    const bool unnormalized = query == Query::force_unnormalized_coords;
    return handle(o, of_sampler || unnormalized ? Opaque::sampler : Opaque::texture);
}

// The rank of a tensor.
unsigned OperandCheck::axes() const { return field::vector.get(c_.modifiers); }

TensorMode OperandCheck::tensor_mode() const {
    return static_cast<TensorMode>(field::mode.get(c_.modifiers));
}

bool OperandCheck::is_sampler(const Operand& o) const {
    return o.kind == Kind::variable
               ? here_.module.variables[o.index].opaque == Opaque::sampler
               : o.kind == Kind::reg && bytes_of(o.type) == 8 && !is_float(o.type);
}

std::string OperandCheck::tensor(const Operand& o) const {
    if (o.kind != Kind::texel || o.count != 1 || o.base != Kind::reg || bytes_of(o.type) != 8)
        return "expected [register of 64 bits, {coordinates}]";
    const Operand& at = here_.function.operands[static_cast<std::size_t>(o.value)];
    // Of four rows: the column and the number of each row.
    const unsigned count = tensor_mode() == TensorMode::rows ? 5 : axes();
    return row(at, Type::s32, count, "coordinates", count);
}

// An offset for each axis of pixels, or a number of halo pixels and one offset.
std::string OperandCheck::shift(const Operand& o) const {
    const unsigned count = tensor_mode() == TensorMode::im2col ? axes() - 2 : 2;
    return row(o, Type::b16, count, "offsets", count);
}

// A vector with `written` elements, of which the first `count` are used.
std::string OperandCheck::row(const Operand& o, Type type, unsigned count, const char* what,
                              unsigned written) const {
    if (o.kind != Kind::vector || o.count != written)
        return "expected a vector of " + std::to_string(written) + " " + what;
    for (unsigned n = 0; n < count; ++n) {
        std::string wrong = source(here_.function.operands[o.index + n], type, false);
        if (!wrong.empty()) return wrong;
    }
    return {};
}

std::string OperandCheck::texel(const Operand& o) const {
    if (o.kind != Kind::texel) return "expected [texture or surface, coordinates]";
    const bool surface = c_.form.form().types2.count == 0;
    std::string wrong = handle(o, surface ? Opaque::surface : Opaque::texture);
    if (!wrong.empty()) return wrong;
    const Operand* inner = here_.function.operands.data() + o.value;
    if (o.count == 2) {
        if (surface) return "a surface cannot have a sampler";
        if (!here_.module.independent_samplers)
            return "a separate sampler needs .target texmode_independent";
        if (!is_sampler(inner[0])) return "expected a sampler before the coordinates";
    } else if (here_.module.independent_samplers && !surface) {
        return "expected a sampler before the coordinates: the target is texmode_independent";
    }
    const Operand& at = inner[o.count - 1];
    const Geometry g = geometry();
    // Coordinates of surfaces are integers.
    const Type type = c_.type2 == Type::none ? Type::s32 : c_.type2;
    const unsigned wanted = written_coordinates(g);
    if (at.kind != Kind::vector)
        return wanted == 1 ? source(at, type, false) : "expected a vector of coordinates";
    if (at.count != wanted)
        return "expected a vector of " + std::to_string(wanted) + " coordinates, got " +
               std::to_string(at.count);
    const unsigned meant = axes_of(g) + (is_layered(g) ? 1 : 0);
    for (unsigned i = 0; i < meant; ++i) {
        const Type each = i == 0 && is_layered(g) ? Type::b32 : type;
        wrong = source(here_.function.operands[at.index + i], each, false);
        if (!wrong.empty()) return wrong;
    }
    return {};
}

// A vector of 3 coordinates is written with 4 elements.
std::string OperandCheck::elements(const Operand& o, Type type, unsigned count) const {
    if (o.kind != Kind::vector && count == 1 && type == Type::s32) return source(o, type, false);
    return row(o, type, count, "elements", count == 3 ? 4 : count);
}

}  // namespace cupola::ptx
