// csrc/ptx/operand_list.cpp - parses the operands of an instruction and resolves the names in them.
#include "ptx/operand_list.hpp"

#include "ptx/constant.hpp"
#include "ptx/special_registers.hpp"

namespace cupola::ptx {

namespace {

using Kind = Operand::Kind;

// The Operand::selector of ".b0" or ".h10"; 0 if the text is not a selector.
std::uint16_t selector_of(std::string_view text) {
    if (text.size() < 3 || text.size() > 6 || (text[1] != 'b' && text[1] != 'h')) return 0;
    const bool half = text[1] == 'h';
    auto out = static_cast<std::uint16_t>((half ? selector_half : 0) |
                                          static_cast<unsigned>(text.size() - 2) << 12);
    for (std::size_t n = 0; n + 2 < text.size(); ++n) {
        const char c = text[text.size() - 1 - n];
        if (c < '0' || c > (half ? '3' : '7')) return 0;
        out = static_cast<std::uint16_t>(out | static_cast<unsigned>(c - '0') << 3 * n);
    }
    return out;
}

}  // namespace

void OperandList::read(Function& f) {
    operands_.clear();
    sums_.clear();
    while (!tokens_.at_mark(';')) {
        const Token& token = tokens_.peek();
        if (operands_.size() == 16) tokens_.fail(token, "an instruction has more than 16 operands");
        Operand o = operand(f);
        if (o.kind == Kind::reg && o.selector == 0 && tokens_.at_mark('+'))
            o = sums_.read_sum(f, o, token);
        if ((o.kind == Kind::variable || o.kind == Kind::frame) && !o.sum && tokens_.at_mark('['))
            sums_.read_element(f, o, operands_.size(), token);
        operands_.push_back(o);
        if (!tokens_.accept(',')) break;
    }
    tokens_.expect(';');
}

Operand OperandList::operand(Function& f) {
    Operand o;
    if (tokens_.at_mark('!') && tokens_.peek(1).kind == Token::Kind::word) {
        tokens_.take();
        o = primary(f);
        o.negated = true;
        return o;
    }
    o = primary(f);
    if (tokens_.at_mark('|')) {
        tokens_.take();
        if (tokens_.peek().kind == Token::Kind::word && tokens_.peek().text == "_") {
            tokens_.take();
            return o;
        }
        o.second = registers_.expect_register(f, "a predicate").index;
    }
    return o;
}

Operand OperandList::primary(Function& f) {
    const Token& token = tokens_.peek();
    if (token.kind == Token::Kind::word && !at_constant(tokens_))
        return named(f, tokens_.take_spaced());
    if (tokens_.at_mark('{')) return vector_operand(f);
    if (tokens_.at_mark('[')) return memory_operand(f);
    return number_operand(f);
}

Operand OperandList::number_operand(Function& f) {
    if (tokens_.at_mark('-') && tokens_.peek(1).kind == Token::Kind::word &&
        !at_constant(tokens_, 1)) {
        tokens_.take();
        Operand o = named(f, tokens_.take_spaced());
        o.negated = true;
        return o;
    }
    return constant_operand(tokens_);
}

Operand OperandList::vector_operand(Function& f) {
    tokens_.take();
    constexpr unsigned longest = 128;  // the accumulators of a warpgroup
    Operand o;
    o.kind = Kind::vector;
    o.index = static_cast<std::uint32_t>(f.operands.size());
    do {
        const Token& token = tokens_.peek();
        if (o.count == longest) tokens_.fail(token, "a vector has more than 128 elements");
        if (tokens_.at_mark('{') || tokens_.at_mark('['))
            tokens_.fail(token,
                         "expected a register or a constant in a vector, got " + quoted(token));
        const Operand element = primary(f);
        if (element.kind == Kind::vector)
            tokens_.fail(token, "expected a register or a constant in a vector, got the vector " +
                                    quoted(token));
        f.operands.push_back(element);
        ++o.count;
    } while (tokens_.accept(','));
    tokens_.expect('}');
    return o;
}

Operand OperandList::memory_operand(Function& f) {
    tokens_.take();
    const Token& token = tokens_.peek();
    if (tokens_.at_mark('[') || tokens_.at_mark('{'))
        tokens_.fail(token, "expected a register, a variable or a constant as an address, got " +
                                quoted(token));
    Operand base = primary(f);
    Operand o;
    o.kind = Kind::memory;
    o.base = base.kind;
    o.type = base.type;
    o.index = base.index;
    o.value = base.value;
    const bool address =
        base.kind == Kind::variable || base.kind == Kind::frame || base.kind == Kind::integer;
    const bool pointer = base.kind == Kind::reg && !is_float(base.type) &&
                         (bytes_of(base.type) == 4 || bytes_of(base.type) == 8);
    if (!address && !pointer)
        tokens_.fail(
            token,
            "expected an integer register of 32 or 64 bits, a variable or a constant as an "
            "address, got " +
                quoted(token));
    if (tokens_.accept('+'))
        o.value = static_cast<std::int64_t>(
            static_cast<std::uint64_t>(o.value) +
            static_cast<std::uint64_t>(constant_integer(tokens_, "an offset")));
    if (tokens_.accept(',')) texel_operand(f, o, token);
    tokens_.expect(']');
    if (tokens_.at_directive(".unified"))
        // This suffix says how the address was computed, and has no effect on results.
        tokens_.take();
    return o;
}

// [texture, {coordinates}] or [texture, sampler, {coordinates}]
void OperandList::texel_operand(Function& f, Operand& o, const Token& start) {
    Operand inner[2];
    unsigned count = 0;
    do {
        if (count == 2)
            tokens_.fail(tokens_.peek(),
                         "expected ']' after the coordinates, got " + quoted(tokens_.peek()));
        if (tokens_.at_mark('['))
            tokens_.fail(tokens_.peek(), "expected coordinates, got " + quoted(tokens_.peek()));
        inner[count++] = primary(f);
    } while (tokens_.accept(','));
    if (o.value != 0 || (o.base != Kind::reg && o.base != Kind::variable))
        tokens_.fail(start,
                     "expected a texture or surface (a register of 64 bits or a variable), got " +
                         quoted(start));
    o.kind = Kind::texel;
    o.value = static_cast<std::int64_t>(f.operands.size());
    o.count = count;
    f.operands.insert(f.operands.end(), inner, inner + count);
}

Operand OperandList::named(Function& f, const Token& token) {
    Operand o;
    if (token.text == "_") {
        o.kind = Kind::sink;
        return o;
    }
    if (const Symbol* s = scopes_.find_register(f, token.text)) {
        o.index = s->index;
        switch (s->kind) {
            case Symbol::Kind::reg:
                return s->count == 1 ? register_operand(f, s->index) : whole_vector(f, *s);
            case Symbol::Kind::table:
                o.kind = Kind::table;
                return o;
            case Symbol::Kind::function:
                o.kind = Kind::function;
                module_.functions[o.index].address_taken = true;
                return o;
            case Symbol::Kind::prototype:
            case Symbol::Kind::targets:
                tokens_.fail(token, "expected an operand, got the call prototype " + quoted(token));
            case Symbol::Kind::variable:
                o.kind = Kind::variable;
                break;
            case Symbol::Kind::frame:
                o.kind = Kind::frame;
                break;
        }
        // variable+8; within [ ], memory_operand reads the offset
        if (tokens_.at_mark('+') && at_constant(tokens_, 1)) {
            tokens_.take();
            o.value = constant_integer(tokens_, "an offset");
            o.sum = true;
        }
        return o;
    }
    const std::size_t dot = token.text.rfind('.');
    if (const std::uint16_t selector = dot == std::string_view::npos
                                           ? std::uint16_t{0}
                                           : selector_of(token.text.substr(dot))) {
        const Symbol* s = scopes_.find_register(f, token.text.substr(0, dot));
        if (s && s->kind == Symbol::Kind::reg && s->count == 1) {
            o = register_operand(f, s->index);
            o.selector = selector;
            return o;
        }
    }
    if (registers_.vector_element(f, token, o)) return o;
    if (token.text[0] == '%') {
        if (special_vector(f, token.text, o)) return o;
        if (const Special own = special_register(token.text); own != Special::count) {
            o.kind = Kind::special;
            o.index = static_cast<std::uint32_t>(own);
            return o;
        }
        tokens_.fail(token, "unknown register '" + std::string(token.text) + "'");
    }
    o.kind = Kind::label;
    o.index = labels_.reference(token.text, token.line);
    return o;
}

}  // namespace cupola::ptx
