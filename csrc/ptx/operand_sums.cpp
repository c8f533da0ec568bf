// csrc/ptx/operand_sums.cpp - operands such as a[i] and a + 4 where an instruction takes only
// registers.
#include "ptx/operand_sums.hpp"

#include <utility>

#include "ptx/constant.hpp"

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

void OperandSums::clear() {
    made_.clear();
    indices_.clear();
}

void OperandSums::read_element(Function& f, Operand& o, std::size_t operand, const Token& at) {
    const Variable& v = o.kind == Kind::frame ? f.frame[o.index] : module_.variables[o.index];
    if (!v.array || v.opaque != Opaque::none)
        tokens_.fail(at, "'" + v.name + "' is not an array, so it has no elements");
    tokens_.take();
    Index index;
    index.operand = operand;
    index.bytes = bytes_of(v.type);
    o.element = true;
    const Token& token = tokens_.peek();
    if (at_constant(tokens_)) {
        o.value = product(constant_integer(tokens_, "an index"), index.bytes);
    } else {
        const Symbol& s = registers_.expect_register(f, "an index");
        index.from = register_operand(f, s.index);
        const unsigned bytes = bytes_of(index.from.type);
        if (is_float(index.from.type) || (bytes != 2 && bytes != 4 && bytes != 8))
            tokens_.fail(
                token,
                "expected a constant or an integer register of 16, 32 or 64 bits as an index, "
                "got " +
                    quoted(token));
        if (tokens_.accept('+')) index.constant = constant_integer(tokens_, "a constant to add");
        indices_.push_back(index);
    }
    tokens_.expect(']');
}

Operand OperandSums::read_sum(Function& f, const Operand& o, const Token& at) {
    static constexpr std::pair<unsigned, std::string_view> sums[] = {
        {2, "add.u16"}, {4, "add.u32"}, {8, "add.u64"}};
    tokens_.take();
    Operand constant;
    constant.kind = Operand::Kind::integer;
    constant.value = constant_integer(tokens_, "a constant to add");
    std::string_view opcode;
    if (!is_float(o.type))
        for (const auto& [bytes, sum] : sums)
            if (bytes == bytes_of(o.type)) opcode = sum;
    if (opcode.empty())
        tokens_.fail(
            at, "register + constant needs an integer register of 16, 32 or 64 bits, not one of ." +
                    std::string(name_of(o.type)));
    Operand sum = new_register(f, o.type);
    made_.push_back({opcode, {sum, o, constant}});
    sum.sum = true;
    return sum;
}

void OperandSums::elements_in_memory(Function& f, std::vector<Operand>& operands, Space space,
                                     const Token& at) {
    for (std::size_t n = 0; n < operands.size(); ++n) {
        if (!operands[n].element) continue;
        const bool in_frame = operands[n].kind == Kind::frame;
        const std::uint32_t index = operands[n].index;
        const Variable& v = in_frame ? f.frame[index] : module_.variables[index];
        if (!lies_in(v, in_frame, space))
            tokens_.fail(at, "'" + v.name + "' is not in the state space of the instruction");
        Operand o = address_sum(f, operands, n, 0);
        o.base = o.kind;
        o.kind = Kind::memory;
        o.element = false;
        operands[n] = o;
    }
    indices_.clear();
}

bool OperandSums::address_sums(Function& f, std::vector<Operand>& operands, unsigned bytes) {
    bool any = false;
    for (std::size_t n = 0; n < operands.size(); ++n) {
        const Operand& o = operands[n];
        if (o.kind != Kind::variable && o.kind != Kind::frame) continue;
        if (!o.sum && !has_index(n)) continue;
        operands[n] = address_sum(f, operands, n, bytes);
        any = true;
    }
    return any;
}

bool OperandSums::has_index(std::size_t operand) const {
    for (const Index& index : indices_)
        if (index.operand == operand) return true;
    return false;
}

// The address of an operand in a register. If `bytes` is 0, an address without an index is kept.
Operand OperandSums::address_sum(Function& f, const std::vector<Operand>& operands,
                                 std::size_t operand, unsigned bytes) {
    Operand address = operands[operand];
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

void OperandSums::emit(Function& f, const Instruction& i, InsertedCode& code) const {
    for (const Made& each : made_) code.emit(f, i, each.opcode, each.operands);
}

}  // namespace cupola::ptx
