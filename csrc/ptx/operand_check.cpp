// csrc/ptx/operand_check.cpp - checks operands against the constraints of a row.
#include "ptx/operand_check.hpp"

#include <algorithm>

#include "ptx/tcgen05.hpp"

namespace cupola::ptx {
namespace {

using Kind = Operand::Kind;

bool suits(Type reg, Type type) {
    if (reg == Type::pred || type == Type::pred) return reg == type;
    if (bytes_of(reg) != bytes_of(type)) return false;
    if (is_bits(reg) || is_bits(type)) return true;
    if (is_float(reg) || is_float(type)) return reg == type;
    return true;
}

// Some operands may use a register wider than the type. Integers always may. In ld, st and cvt a
// float or untyped register may too, if the register or the instruction is untyped.
bool suits_relaxed(Type reg, Type type, bool floats) {
    if (suits(reg, type)) return true;
    if (reg == Type::pred || bytes_of(reg) <= bytes_of(type)) return false;
    if (!is_float(reg) && !is_float(type)) return true;
    const bool plain =
        type == Type::f16 || type == Type::f16x2 || type == Type::f32 || type == Type::f64;
    return floats && (is_float(type) ? plain && is_bits(reg) : is_bits(type));
}

std::string wrong_register(const Operand& o, Type type) {
    return "expected a register of type ." + std::string(name_of(type)) + ", got one of ." +
           std::string(name_of(o.type));
}

unsigned bits_of_special(Special special) {
    switch (special) {
        case Special::clock64:
        case Special::globaltimer:
        case Special::gridid:
        case Special::current_graph_exec:
        case Special::performance64:
            return 64;
        case Special::is_explicit_cluster:
            return 1;
        default:
            return 32;
    }
}

}  // namespace

std::string OperandCheck::run() const {
    const Form& form = c_.form.form();
    unsigned written = 0;
    for (unsigned i = 0; i < form.operands.count; ++i)
        written += form.operands.list[i] != OperandConstraint::cc_in &&
                   form.operands.list[i] != OperandConstraint::cc_out;
    bool policy = false;
    for (unsigned i = 0; i < form.slots.count; ++i)
        policy |=
            form.slots.list[i] == &words::cache_hint && field::cache_hint.get(c_.modifiers) != 0;
    written += policy;
    if (written != here_.count)
        return "expected " + std::to_string(written) + " operands, got " +
               std::to_string(here_.count);
    unsigned at = 0;
    for (unsigned i = 0; i < form.operands.count; ++i) {
        const OperandConstraint constraint = form.operands.list[i];
        if (constraint == OperandConstraint::cc_in || constraint == OperandConstraint::cc_out)
            continue;
        const Operand& o = without_braces(here_.operands[at++], constraint);
        std::string wrong = one(constraint, o);
        if (wrong.empty() && o.second != absent && constraint != OperandConstraint::pq &&
            constraint != OperandConstraint::dp && constraint != OperandConstraint::fetched)
            wrong = "this operand has no second destination ('|')";
        if (wrong.empty() && o.negated && constraint != OperandConstraint::np &&
            constraint != OperandConstraint::va)
            wrong = "'!' needs a predicate, and '-' a constant";
        if (wrong.empty() && o.selector != 0 && constraint != OperandConstraint::vd &&
            constraint != OperandConstraint::va)
            wrong = "expected a whole register, got parts of one";
        if (!wrong.empty()) return "operand " + std::to_string(at) + ": " + wrong;
    }
    if (const std::string wrong = result_of_query(); !wrong.empty()) return wrong;
    if (const std::string wrong = braces_of_scales(); !wrong.empty()) return wrong;
    if (!policy) return order();
    const std::string wrong = source(here_.operands[at], Type::b64, false);
    return wrong.empty() ? order() : "cache policy: " + wrong;
}

// In an mma with scale factors, the register with those of a matrix and the register with metadata
// may stand in braces.
const Operand& OperandCheck::without_braces(const Operand& o, OperandConstraint constraint) const {
    const OperandConstraints& all = c_.form.form().operands;
    const bool scaled =
        std::find(all.list, all.list + all.count, OperandConstraint::sd) != all.list + all.count;
    const bool may = constraint == OperandConstraint::sd || constraint == OperandConstraint::w;
    return scaled && may && o.kind == Kind::vector && o.count == 1
               ? here_.function.operands[o.index]
               : o;
}

// ptxas takes braces around the registers with scale factors of both matrices, or of none.
std::string OperandCheck::braces_of_scales() const {
    const Form& form = c_.form.form();
    unsigned braces = 0;
    for (unsigned i = 0; i < form.operands.count; ++i)
        braces += form.operands.list[i] == OperandConstraint::sd &&
                  here_.operands[i].kind == Kind::vector;
    return braces == 1 ? "expected braces around the scale factors of both matrices, or of none"
                       : "";
}

// A query of clusterlaunchcontrol needs a register for its result.
std::string OperandCheck::result_of_query() const {
    if (c_.form.opcode() != Opcode::clusterlaunchcontrol_query) return {};
    const Operand& o = here_.operands[0];
    bool used = o.kind != Kind::sink && o.kind != Kind::vector;
    for (unsigned n = 0; o.kind == Kind::vector && n < o.count; ++n)
        used |= here_.function.operands[o.index + n].kind != Kind::sink;
    return used ? "" : "operand 1: expected a register";
}

// In ld, st and mbarrier, an order and a scope are written together, or both are absent.
std::string OperandCheck::order() const {
    const Opcode opcode = c_.form.opcode();
    if (opcode != Opcode::ld && opcode != Opcode::st && opcode != Opcode::mbarrier) return {};
    const auto order = static_cast<Order>(field::order.get(c_.modifiers));
    const bool scoped = field::scope.get(c_.modifiers) != 0, ordered = order >= Order::relaxed;
    if (ordered != scoped)
        return ordered ? "a memory order needs a scope" : "a scope needs a memory order";
    const auto space = static_cast<Space>(field::space.get(c_.modifiers));
    // The manual has no volatile access to local memory, but compilers emit it. It acts as weak.
    if (space == Space::local && order == Order::volatile_) return {};
    const bool own = space == Space::local || space == Space::constant;
    return own && order != Order::weak ? "local and constant memory have no memory order" : "";
}

// A number of registers, or the bytes of a cache line.
std::string OperandCheck::immediate(const Operand& o) const {
    if (o.kind != Kind::integer) return "expected an integer constant";
    const Opcode opcode = c_.form.opcode();
    if (opcode == Opcode::setmaxnreg && (o.value < 24 || o.value > 256 || o.value % 8 != 0))
        return "expected a multiple of 8 from 24 to 256";
    if (opcode == Opcode::st_bulk && o.value != 0) return "expected 0";
    if ((opcode == Opcode::applypriority || opcode == Opcode::discard) && o.value != 128)
        return "expected 128";
    return {};
}

std::string OperandCheck::one(OperandConstraint constraint, const Operand& o) const {
    // A form without a type works on 32 bits or on an address.
    const Type type = c_.type == Type::none ? Type::b32 : c_.type;
    switch (constraint) {
        case OperandConstraint::d:
            return destination(o, type, false);
        case OperandConstraint::dw:
            return destination(o, doubled(type), false);
        case OperandConstraint::d32:
            return destination(o, Type::b32, false);
        case OperandConstraint::d8:
            return o.kind == Kind::reg ? destination(o, Type::b8, false) : "expected a register";
        case OperandConstraint::dr:
            return destination(o, type, true);
        case OperandConstraint::p:
            return destination(o, Type::pred, false);
        case OperandConstraint::pq:
            return pair(o, Type::pred);
        case OperandConstraint::dp:
            if (o.second == absent &&
                (c_.form.opcode() == Opcode::lop3 || c_.form.opcode() == Opcode::elect_sync))
                return "expected a predicate after '|'";
            return pair(o, c_.form.form().types.count == 0 ? Type::b32 : result());
        case OperandConstraint::a:
            return source(o, type, false);
        case OperandConstraint::aw:
            return c_.type == Type::none ? pointer(o) : source(o, doubled(type), false);
        case OperandConstraint::a2:
            return source(o, c_.type2, false);
        case OperandConstraint::ar2:
            return source(o, c_.type2, true);
        case OperandConstraint::four_a2:
            return row(o, c_.type2, 4, "elements", 4);
        case OperandConstraint::w:
            return source(o, Type::b32, false);
        case OperandConstraint::few:
            if (o.kind == Kind::integer && (o.value < 0 || o.value > 15))
                return "expected 0 to 15 bytes";
            return source(o, Type::b32, false);
        case OperandConstraint::h:
            return source(o, Type::b16, false);
        case OperandConstraint::np:
            return predicate(o);
        case OperandConstraint::imm:
            return immediate(o);
        case OperandConstraint::vd:
            return o.kind == Kind::reg || o.kind == Kind::sink ? destination(o, Type::b32, false)
                                                               : "expected a register";
        case OperandConstraint::tensor:
            return tensor(o);
        case OperandConstraint::shift:
            return shift(o);
        case OperandConstraint::va:
            return source(o, Type::b32, false);
        case OperandConstraint::number:
            return o.kind == Kind::real || o.kind == Kind::single
                       ? ""
                       : "expected a floating-point constant";
        case OperandConstraint::m:
            return memory(o);
        case OperandConstraint::dv:
            return vector(o, type, true);
        case OperandConstraint::av:
            return vector(o, type, false);
        case OperandConstraint::dpack:
            return pack(o, type, true);
        case OperandConstraint::apack:
            return pack(o, type, false);
        case OperandConstraint::address:
            return symbol(o, type);
        case OperandConstraint::label:
            return o.kind == Kind::label ? "" : "expected a label";
        case OperandConstraint::targets:
            return o.kind == Kind::table ? ""
                                         : "expected the name of a .branchtargets list that "
                                           "precedes the instruction";
        case OperandConstraint::fd:
            return fragment(o, Matrix::d);
        case OperandConstraint::fa:
            return fragment(o, Matrix::a);
        case OperandConstraint::fb:
            return fragment(o, Matrix::b);
        case OperandConstraint::fc:
            return fragment(o, Matrix::c);
        case OperandConstraint::fetched:
            return fetched(o, type);
        case OperandConstraint::texel:
            return texel(o);
        case OperandConstraint::opaque:
            return queried(o);
        case OperandConstraint::gradient:
            return elements(o, Type::f32, axes_of(geometry()));
        case OperandConstraint::offsets:
            return elements(o, Type::s32, axes_of(geometry()));
        case OperandConstraint::md:
            return source(o, Type::b64, false);
        case OperandConstraint::sd:
            return o.kind == Kind::reg || o.kind == Kind::single ? source(o, Type::b32, false)
                                                                 : "expected a register of 32 bits";
        case OperandConstraint::sa:
            return scale_selector(o, 1);
        case OperandConstraint::sb:
            return scale_selector(o, 3);
        case OperandConstraint::tm:
            return o.kind == Kind::memory && o.base == Kind::reg && suits(o.type, Type::b32)
                       ? ""
                       : "expected an address in tensor memory: [register of 32 bits]";
        case OperandConstraint::td:
        case OperandConstraint::ts:
            return registers(o, constraint == OperandConstraint::td);
        case OperandConstraint::columns:
            return columns(o);
        case OperandConstraint::mask:
            return mask(o);
        case OperandConstraint::tr:
            return o.kind == Kind::reg ? destination(o, Type::b32, false) : "expected a register";
        case OperandConstraint::halvings:
            return o.kind == Kind::integer && o.value >= 0 && o.value <= 15
                       ? ""
                       : "expected an integer constant from 0 to 15";
        case OperandConstraint::cc_in:
        case OperandConstraint::cc_out:
            break;
    }
    return {};
}

// The registers that hold a lane's part of tensor memory.
std::string OperandCheck::registers(const Operand& o, bool to) const {
    const unsigned wanted = TensorAccessForm(c_.modifiers).registers();
    if (o.kind != Kind::vector) return "expected a vector";
    if (o.count != wanted)
        return "expected a vector of " + std::to_string(wanted) + ", got " +
               std::to_string(o.count);
    for (unsigned i = 0; i < o.count; ++i) {
        const Operand& e = here_.function.operands[o.index + i];
        if (e.kind == Kind::sink) return "expected a register";
        std::string wrong = to ? destination(e, Type::b32, false) : source(e, Type::b32, false);
        if (!wrong.empty()) return wrong;
    }
    return {};
}

// One bit for each lane of tensor memory of a block or a pair.
std::string OperandCheck::mask(const Operand& o) const {
    const unsigned count = field::pair.get(c_.modifiers) != 0 ? 8 : 4;
    return row(o, Type::b32, count, "registers", count);
}

std::string OperandCheck::columns(const Operand& o) const {
    const bool exclusive = field::exclusive.get(c_.modifiers) != 0;
    if (o.kind == Kind::integer && !is_column_count(static_cast<std::uint64_t>(o.value), exclusive))
        return exclusive ? "expected a multiple of 32 columns"
                         : "expected 32, 64, 128, 256 or 512 columns";
    return source(o, Type::b32, false);
}

// The registers that hold a lane's part of a matrix.
std::string OperandCheck::fragment(const Operand& o, Matrix of) const {
    const MatrixForm form = matrix_form(c_.form, c_.modifiers);
    const Fragment wanted = fragment_of(form, of);
    const bool to =
        of == Matrix::d ? form.kind != MatrixKind::StoreWhole : form.kind == MatrixKind::LoadWhole;
    if (o.kind != Kind::vector) return "expected a vector";
    if (o.count != wanted.registers)
        return "expected a vector of " + std::to_string(wanted.registers) + ", got " +
               std::to_string(o.count);
    for (unsigned i = 0; i < o.count; ++i) {
        const Operand& e = here_.function.operands[o.index + i];
        std::string wrong = to ? destination(e, wanted.type, false) : source(e, wanted.type, false);
        if (!wrong.empty()) return wrong;
    }
    return {};
}

// {byte, lanes}. One scale factor in a row: any byte; two: byte 0 or 2; four: byte 0.
std::string OperandCheck::scale_selector(const Operand& o, std::int64_t last_lanes) const {
    if (o.kind != Kind::vector || o.count != 2)
        return "expected {byte, lanes} of the scale factors";
    const auto scales = static_cast<std::int64_t>(field::scales.get(c_.modifiers));
    const std::int64_t last[] = {4 - scales, last_lanes}, step[] = {scales, 1};
    for (unsigned n = 0; n < 2; ++n) {
        const Operand& e = here_.function.operands[o.index + n];
        if (e.kind == Kind::special) return "expected a register or a constant";
        const std::string wrong = source(e, Type::u16, false);
        if (!wrong.empty()) return wrong;
        if (e.kind != Kind::integer) continue;
        if (e.value < 0 || e.value > last[n] || e.value % step[n] != 0)
            return std::string(n == 0 ? "the byte" : "the lanes") + " of scale factors must be " +
                   (step[n] == 1   ? "0 to " + std::to_string(last[n])
                    : last[n] == 0 ? "0"
                                   : "0 or 2");
    }
    return {};
}

std::string OperandCheck::memory(const Operand& o) const {
    if (o.kind != Kind::memory) return "expected an address in [ ]";
    const bool opaque =
        o.base == Kind::variable && here_.module.variables[o.index].opaque != Opaque::none;
    if (opaque) return "a texture, sampler or surface is not memory; use tex or suld";
    const bool local = static_cast<Space>(field::space.get(c_.modifiers)) == Space::local;
    return o.base == Kind::integer && !local ? "only local memory can have a constant address" : "";
}

// Whether registers may be wider than the instruction's type.
bool OperandCheck::widens() const {
    const Opcode opcode = c_.form.opcode();
    return is_load(opcode) || opcode == Opcode::st || opcode == Opcode::st_async ||
           opcode == Opcode::cvt;
}

// match.all returns a 32-bit mask for every type; shfl returns its type.
Type OperandCheck::result() const { return bytes_of(c_.type) == 8 ? Type::b32 : c_.type; }

std::string OperandCheck::destination(const Operand& o, Type type, bool relaxed) const {
    if (o.kind == Kind::sink) return {};
    if (o.kind != Kind::reg) return "expected a register";
    if (o.sum) return "expected a register, got register + constant";
    if (relaxed ? suits_relaxed(o.type, type, widens()) : suits(o.type, type)) return {};
    return wrong_register(o, type);
}

std::string OperandCheck::pair(const Operand& o, Type type) const {
    if (o.second != absent && here_.function.registers[o.second] != Type::pred)
        return "expected a predicate after '|'";
    return destination(o, type, false);
}

std::string OperandCheck::source(const Operand& o, Type type, bool relaxed) const {
    switch (o.kind) {
        case Kind::reg:
            if (relaxed ? suits_relaxed(o.type, type, widens()) : suits(o.type, type)) return {};
            return wrong_register(o, type);
        case Kind::integer:
            if (type == Type::pred || type == Type::f32 || type == Type::f64)
                return "expected ." + std::string(name_of(type)) + ", got an integer constant";
            return {};
        case Kind::real:
            if (type == Type::f32 || type == Type::f64 || type == Type::b64) return {};
            return "expected ." + std::string(name_of(type)) + ", got a floating-point constant";
        case Kind::single:
            if (type == Type::f32 || type == Type::f64 || type == Type::b32) return {};
            return "expected ." + std::string(name_of(type)) + ", got a floating-point constant";
        case Kind::special: {
            const unsigned bits = bits_of_special(static_cast<Special>(o.index));
            if (bits == 1) return "this special register is a predicate";
            if (is_float(type)) return "expected a float, got a special register";
            if (bits == 8 * bytes_of(type) || (relaxed && bits >= 8 * bytes_of(type))) return {};
            // PTX 1.x had 16-bit special registers, so their low half may still be read.
            if (bits == 32 && bytes_of(type) == 2) return {};
            return "expected ." + std::string(name_of(type)) + ", got a special register of " +
                   std::to_string(bits) + " bits";
        }
        default:
            return "expected a register or a constant";
    }
}

std::string OperandCheck::pointer(const Operand& o) {
    if (o.kind == Kind::reg && (suits(o.type, Type::u64) || suits(o.type, Type::u32))) return {};
    return "expected a register that holds an address";
}

std::string OperandCheck::predicate(const Operand& o) {
    if (o.kind == Kind::reg && o.type == Type::pred) return {};
    if (o.kind == Kind::integer && o.value >= -1 && o.value <= 1) return {};  // -1: all bits
    if (o.kind == Kind::special && bits_of_special(static_cast<Special>(o.index)) == 1) return {};
    return "expected a predicate";
}

std::string OperandCheck::vector(const Operand& o, Type type, bool to) const {
    const unsigned wanted = field::vector.get(c_.modifiers);
    const unsigned count = wanted == 0 ? 1 : wanted;
    if (o.kind != Kind::vector) {
        // A constant sets the first element of the vector; the other elements are 0.
        if (!to && moves() && o.kind == Kind::integer) return {};
        if (count != 1) return "expected a vector of " + std::to_string(count);
        return element(o, type, to);
    }
    if (o.count != count)
        return "expected a vector of " + std::to_string(count) + ", got " + std::to_string(o.count);
    if (count * bytes_of(type) > 32) return "a vector has more than 32 bytes";
    for (unsigned i = 0; i < o.count; ++i) {
        std::string wrong = element(here_.function.operands[o.index + i], type, to);
        if (!wrong.empty()) return wrong;
    }
    return {};
}

std::string OperandCheck::element(const Operand& o, Type type, bool to) const {
    if (!moves()) return to ? destination(o, type, true) : source(o, type, true);
    if (o.kind != Kind::reg) return to ? destination(o, type, false) : source(o, type, false);
    return bytes_of(o.type) == bytes_of(type) ? "" : wrong_register(o, type);
}

// mov compares widths, not types.
bool OperandCheck::moves() const { return c_.form.opcode() == Opcode::mov; }

std::string OperandCheck::pack(const Operand& o, Type type, bool to) const {
    if (o.kind != Kind::vector) return "expected a vector";
    if (o.count != 2 && o.count != 4) return "expected a vector of 2 or 4";
    const unsigned bytes = bytes_of(type) / o.count;
    for (unsigned i = 0; i < o.count; ++i) {
        const Operand& e = here_.function.operands[o.index + i];
        if (to && e.kind == Kind::sink) continue;
        if (!to && e.kind == Kind::integer) continue;
        if (e.kind != Kind::reg || e.type == Type::pred || bytes_of(e.type) != bytes)
            return "expected elements of " + std::to_string(8 * bytes) + " bits";
    }
    return bytes == 0 ? "elements must have at least 8 bits" : std::string();
}

std::string OperandCheck::symbol(const Operand& o, Type type) const {
    if (o.kind == Kind::frame || o.kind == Kind::variable) {
        if (is_float(type)) return "expected a float, got an address";
        const unsigned bytes = bytes_of(type);
        if (bytes == 8) return {};
        const Space space =
            o.kind == Kind::frame ? Space::local : here_.module.variables[o.index].space;
        if (bytes == 4 && (space == Space::shared || space == Space::local)) return {};
        return "expected ." + std::string(name_of(type)) + ", got an address of 64 bits";
    }
    if (o.kind == Kind::function)
        return bytes_of(type) == 8 && !is_float(type) ? ""
                                                      : "an address needs a register of 64 bits";
    return source(o, type, false);
}

std::string check_operands(const Candidate& candidate, const CheckContext& here) {
    return OperandCheck(candidate, here).run();
}

}  // namespace cupola::ptx
