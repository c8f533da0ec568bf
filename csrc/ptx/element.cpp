// csrc/ptx/element.cpp - operands such as a[i] and a + 4 where an instruction takes only registers.
// The parser inserts instructions that compute the operand in front of the current one.
#include "ptx/parser.hpp"

namespace cupola::ptx {
namespace {

using Kind = Operand::Kind;

std::int64_t product(std::int64_t a, unsigned bytes) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * bytes);
}

// Whether an access to this state space can name the variable.
bool lies_in(const Variable& v, bool in_frame, Space space) {
    if (space == Space::generic || space == v.space) return true;
    if (space == Space::cluster_shared) return v.space == Space::shared;
    if (space == Space::entry_param) return v.space == Space::param && !in_frame;
    return space == Space::local && in_frame;
}

}  // namespace

// variable[constant], variable[register] or variable[register + constant]. As in ptxas, the index
// counts scalars, also in an array of vectors or of rows.
void Parser::element(Function& f, Operand& o, const Token& at) {
    const Variable& v = o.kind == Kind::frame ? f.frame[o.index] : module_.variables[o.index];
    if (!v.array || v.opaque != Opaque::none)
        fail(at, "'" + v.name + "' is not an array, so it has no elements");
    take();
    Index index;
    index.operand = operands_.size();
    index.bytes = bytes_of(v.type);
    o.element = true;
    const Token& token = peek();
    if (at_constant()) {
        o.value = product(constant_integer("an index"), index.bytes);
    } else {
        const Symbol& s = expect_register(f, "an index");
        index.from = register_operand(f, s.index);
        const unsigned bytes = bytes_of(index.from.type);
        if (is_float(index.from.type) || (bytes != 2 && bytes != 4 && bytes != 8))
            fail(token,
                 "expected a constant or an integer register of 16, 32 or 64 bits as an index, "
                 "got " +
                     quoted(token));
        if (accept('+')) index.constant = constant_integer("a constant to add");
        indices_.push_back(index);
    }
    expect(']');
}

// For a load or store: the operand is the element, not its address. The space is checked here
// because an address in a register has lost it.
void Parser::elements_in_memory(Function& f, Space space, const Token& at) {
    for (std::size_t n = 0; n < operands_.size(); ++n) {
        if (!operands_[n].element) continue;
        const bool in_frame = operands_[n].kind == Kind::frame;
        const std::uint32_t index = operands_[n].index;
        const Variable& v = in_frame ? f.frame[index] : module_.variables[index];
        if (!lies_in(v, in_frame, space))
            fail(at, "'" + v.name + "' is not in the state space of the instruction");
        Operand o = address_sum(f, n, 0);
        o.base = o.kind;
        o.kind = Kind::memory;
        o.element = false;
        operands_[n] = o;
    }
    indices_.clear();
}

// Moves addresses into registers of `bytes` bytes; false if no operand needs it.
bool Parser::address_sums(Function& f, unsigned bytes) {
    bool any = false;
    for (std::size_t n = 0; n < operands_.size(); ++n) {
        const Operand& o = operands_[n];
        if (o.kind != Kind::variable && o.kind != Kind::frame) continue;
        if (!o.sum && !has_index(n)) continue;
        operands_[n] = address_sum(f, n, bytes);
        any = true;
    }
    return any;
}

bool Parser::has_index(std::size_t operand) const {
    for (const Index& index : indices_)
        if (index.operand == operand) return true;
    return false;
}

// The address of an operand in a register. If `bytes` is 0, an address without an index is kept.
Operand Parser::address_sum(Function& f, std::size_t operand, unsigned bytes) {
    Operand address = operands_[operand];
    address.sum = address.element = false;
    const Index* index = nullptr;
    for (const Index& each : indices_)
        if (each.operand == operand) index = &each;
    if (!index && bytes == 0) return address;
    const bool narrow = bytes == 4;
    const Type type = narrow ? Type::u32 : Type::u64;
    Operand base = new_register(f, type);
    made_.push_back({narrow ? "mov.u32" : "mov.u64", {base, address}});
    if (index) {
        // The byte offset is unsigned and has 32 bits, for any width of the register.
        Operand from = index->from;
        const unsigned width = bytes_of(from.type);
        if (width != 4) {
            const Operand word = new_register(f, Type::u32);
            made_.push_back({width == 2 ? "cvt.u32.u16" : "cvt.u32.u64", {word, from}});
            from = word;
        }
        Operand offset = new_register(f, Type::u32);
        made_.push_back({"mad.lo.u32",
                         {offset, from, integer_operand(index->bytes),
                          integer_operand(product(index->constant, index->bytes) & 0xffffffff)}});
        if (!narrow) {
            const Operand wide = new_register(f, Type::u64);
            made_.push_back({"cvt.u64.u32", {wide, offset}});
            offset = wide;
        }
        const Operand sum = new_register(f, type);
        made_.push_back({narrow ? "add.u32" : "add.u64", {sum, base, offset}});
        base = sum;
    }
    base.sum = true;
    return base;
}

}  // namespace cupola::ptx
