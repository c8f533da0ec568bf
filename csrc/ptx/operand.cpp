// csrc/ptx/operand.cpp - parses operands and resolves the names in them.
#include "ptx/parser.hpp"

namespace cupola::ptx {
namespace {

using Kind = Operand::Kind;

struct SpecialName {
    std::string_view name;
    Special special;
};
constexpr SpecialName specials[] = {
    {"%tid.x", Special::tid_x},
    {"%tid.y", Special::tid_y},
    {"%tid.z", Special::tid_z},
    {"%ntid.x", Special::ntid_x},
    {"%ntid.y", Special::ntid_y},
    {"%ntid.z", Special::ntid_z},
    {"%ctaid.x", Special::ctaid_x},
    {"%ctaid.y", Special::ctaid_y},
    {"%ctaid.z", Special::ctaid_z},
    {"%nctaid.x", Special::nctaid_x},
    {"%nctaid.y", Special::nctaid_y},
    {"%nctaid.z", Special::nctaid_z},
    {"%laneid", Special::laneid},
    {"%warpid", Special::warpid},
    {"%nwarpid", Special::nwarpid},
    {"%smid", Special::smid},
    {"%nsmid", Special::nsmid},
    {"%gridid", Special::gridid},
    {"%lanemask_eq", Special::lanemask_eq},
    {"%lanemask_le", Special::lanemask_le},
    {"%lanemask_lt", Special::lanemask_lt},
    {"%lanemask_ge", Special::lanemask_ge},
    {"%lanemask_gt", Special::lanemask_gt},
    {"%clock", Special::clock},
    {"%clock_hi", Special::clock_hi},
    {"%clock64", Special::clock64},
    {"%globaltimer", Special::globaltimer},
    {"%globaltimer_lo", Special::globaltimer_lo},
    {"%globaltimer_hi", Special::globaltimer_hi},
    {"%dynamic_smem_size", Special::dynamic_smem_size},
    {"%total_smem_size", Special::total_smem_size},
    {"%cluster_ctaid.x", Special::cluster_ctaid_x},
    {"%cluster_ctaid.y", Special::cluster_ctaid_y},
    {"%cluster_ctaid.z", Special::cluster_ctaid_z},
    {"%cluster_nctaid.x", Special::cluster_nctaid_x},
    {"%cluster_nctaid.y", Special::cluster_nctaid_y},
    {"%cluster_nctaid.z", Special::cluster_nctaid_z},
    {"%clusterid.x", Special::clusterid_x},
    {"%clusterid.y", Special::clusterid_y},
    {"%clusterid.z", Special::clusterid_z},
    {"%nclusterid.x", Special::nclusterid_x},
    {"%nclusterid.y", Special::nclusterid_y},
    {"%nclusterid.z", Special::nclusterid_z},
    {"%cluster_ctarank", Special::cluster_ctarank},
    {"%cluster_nctarank", Special::cluster_nctarank},
    {"%is_explicit_cluster", Special::is_explicit_cluster},
    {"%aggr_smem_size", Special::aggr_smem_size},
    {"%reserved_smem_offset_begin", Special::reserved_smem_offset_begin},
    {"%reserved_smem_offset_end", Special::reserved_smem_offset_end},
    {"%reserved_smem_offset_cap", Special::reserved_smem_offset_cap},
    {"%reserved_smem_offset_0", Special::reserved_smem_offset_0},
    {"%reserved_smem_offset_1", Special::reserved_smem_offset_1},
    {"%current_graph_exec", Special::current_graph_exec},
};

// %envreg0 to %envreg31; Special::count for another name.
Special environment_register(std::string_view name) {
    constexpr std::string_view prefix = "%envreg";
    if (name.substr(0, prefix.size()) != prefix) return Special::count;
    const std::string_view digits = name.substr(prefix.size());
    if (digits.empty() || digits.size() > 2 || (digits.size() == 2 && digits[0] == '0'))
        return Special::count;
    unsigned number = 0;
    for (const char c : digits) {
        if (c < '0' || c > '9') return Special::count;
        number = number * 10 + static_cast<unsigned>(c - '0');
    }
    if (number > 31) return Special::count;
    return static_cast<Special>(static_cast<unsigned>(Special::envreg0) + number);
}

// %pm0 to %pm7 have 32 bits, %pm0_64 to %pm7_64 have 64.
Special performance_register(std::string_view name) {
    if (name.size() < 4 || name.substr(0, 3) != "%pm" || name[3] < '0' || name[3] > '7')
        return Special::count;
    if (name.size() == 4) return Special::performance;
    return name.substr(4) == "_64" ? Special::performance64 : Special::count;
}

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

// Reads operands up to the semicolon.
void Parser::operands(Function& f) {
    operands_.clear();
    made_.clear();
    indices_.clear();
    while (!at_mark(';')) {
        const Token& token = peek();
        if (operands_.size() == 16) fail(token, "an instruction has more than 16 operands");
        Operand o = operand(f);
        if (o.kind == Kind::reg && o.selector == 0 && at_mark('+')) o = register_sum(f, o, token);
        if ((o.kind == Kind::variable || o.kind == Kind::frame) && !o.sum && at_mark('['))
            element(f, o, token);
        operands_.push_back(o);
        if (!accept(',')) break;
    }
    expect(';');
}

Operand Parser::operand(Function& f) {
    Operand o;
    if (at_mark('!') && peek(1).kind == Token::Kind::word) {
        take();
        o = primary(f);
        o.negated = true;
        return o;
    }
    o = primary(f);
    if (at_mark('|')) {
        take();
        if (peek().kind == Token::Kind::word && peek().text == "_") {
            take();
            return o;
        }
        o.second = expect_register(f, "a predicate").index;
    }
    return o;
}

Operand Parser::primary(Function& f) {
    const Token& token = peek();
    if (token.kind == Token::Kind::word && !at_constant()) {
        take();
        return named(f, token);
    }
    if (at_mark('{')) return vector_operand(f);
    if (at_mark('[')) return memory_operand(f);
    return number_operand(f);
}

Operand Parser::number_operand(Function& f) {
    if (at_mark('-') && peek(1).kind == Token::Kind::word && !at_constant(1)) {
        take();
        Operand o = named(f, take());
        o.negated = true;
        return o;
    }
    return constant_operand();
}

Operand Parser::vector_operand(Function& f) {
    take();
    constexpr unsigned longest = 128;  // the accumulators of a warpgroup
    Operand o;
    o.kind = Kind::vector;
    o.index = static_cast<std::uint32_t>(f.operands.size());
    do {
        const Token& token = peek();
        if (o.count == longest) fail(token, "a vector has more than 128 elements");
        if (at_mark('{') || at_mark('['))
            fail(token, "expected a register or a constant in a vector, got " + quoted(token));
        const Operand element = primary(f);
        if (element.kind == Kind::vector)
            fail(token,
                 "expected a register or a constant in a vector, got the vector " + quoted(token));
        f.operands.push_back(element);
        ++o.count;
    } while (accept(','));
    expect('}');
    return o;
}

Operand Parser::memory_operand(Function& f) {
    take();
    const Token& token = peek();
    if (at_mark('[') || at_mark('{'))
        fail(token,
             "expected a register, a variable or a constant as an address, got " + quoted(token));
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
        fail(token,
             "expected an integer register of 32 or 64 bits, a variable or a constant as an "
             "address, got " +
                 quoted(token));
    if (accept('+'))
        o.value =
            static_cast<std::int64_t>(static_cast<std::uint64_t>(o.value) +
                                      static_cast<std::uint64_t>(constant_integer("an offset")));
    if (accept(',')) texel_operand(f, o, token);
    expect(']');
    if (at_directive(".unified"))
        take();  // says how the address was computed; no effect on results
    return o;
}

// [texture, {coordinates}] or [texture, sampler, {coordinates}]
void Parser::texel_operand(Function& f, Operand& o, const Token& start) {
    Operand inner[2];
    unsigned count = 0;
    do {
        if (count == 2) fail(peek(), "expected ']' after the coordinates, got " + quoted(peek()));
        if (at_mark('[')) fail(peek(), "expected coordinates, got " + quoted(peek()));
        inner[count++] = primary(f);
    } while (accept(','));
    if (o.value != 0 || (o.base != Kind::reg && o.base != Kind::variable))
        fail(start, "expected a texture or surface (a register of 64 bits or a variable), got " +
                        quoted(start));
    o.kind = Kind::texel;
    o.value = static_cast<std::int64_t>(f.operands.size());
    o.count = count;
    f.operands.insert(f.operands.end(), inner, inner + count);
}

Operand Parser::named(Function& f, const Token& token) {
    Operand o;
    if (token.text == "_") {
        o.kind = Kind::sink;
        return o;
    }
    if (const Symbol* s = find_register(f, token.text)) {
        o.index = s->index;
        switch (s->kind) {
            case Symbol::Kind::reg:
                return s->count == 1 ? register_operand(f, s->index) : whole_vector(f, *s);
            case Symbol::Kind::table:
                o.kind = Kind::table;
                return o;
            case Symbol::Kind::function:
                o.kind = Kind::function;
                take_address(o.index);
                return o;
            case Symbol::Kind::prototype:
            case Symbol::Kind::targets:
                fail(token, "expected an operand, got the call prototype " + quoted(token));
            case Symbol::Kind::variable:
                o.kind = Kind::variable;
                break;
            case Symbol::Kind::frame:
                o.kind = Kind::frame;
                break;
        }
        // variable+8; within [ ], memory_operand reads the offset
        if (at_mark('+') && at_constant(1)) {
            take();
            o.value = constant_integer("an offset");
            o.sum = true;
        }
        return o;
    }
    const std::size_t dot = token.text.rfind('.');
    if (const std::uint16_t selector = dot == std::string_view::npos
                                           ? std::uint16_t{0}
                                           : selector_of(token.text.substr(dot))) {
        const Symbol* s = find_register(f, token.text.substr(0, dot));
        if (s && s->kind == Symbol::Kind::reg && s->count == 1) {
            o = register_operand(f, s->index);
            o.selector = selector;
            return o;
        }
    }
    if (vector_element(f, token, o)) return o;
    if (token.text[0] == '%') {
        if (special_vector(f, token.text, o)) return o;
        for (const auto& s : specials)
            if (s.name == token.text) {
                o.kind = Kind::special;
                o.index = static_cast<std::uint32_t>(s.special);
                return o;
            }
        if (const Special own = environment_register(token.text); own != Special::count) {
            o.kind = Kind::special;
            o.index = static_cast<std::uint32_t>(own);
            return o;
        }
        if (const Special own = performance_register(token.text); own != Special::count) {
            o.kind = Kind::special;
            o.index = static_cast<std::uint32_t>(own);
            return o;
        }
        fail(token, "unknown register '" + std::string(token.text) + "'");
    }
    o.kind = Kind::label;
    o.index = label_reference(token.text);
    references_[o.index].line = token.line;
    return o;
}

const Symbol& Parser::expect_register(Function& f, const char* what) {
    const Token& token = peek();
    const Symbol* s = find_register(f, expect_word(what));
    if (!s) fail(token, "unknown register '" + std::string(token.text) + "'");
    if (s->kind != Symbol::Kind::reg || s->count != 1)
        fail(token, "'" + std::string(token.text) + "' is not " + what);
    return *s;
}

const Symbol* Parser::find(std::string_view name) {
    for (std::uint32_t s = scope_;; s = scopes_[s].parent) {
        const auto at = scopes_[s].names.find(name);
        if (at != scopes_[s].names.end()) return &at->second;
        if (s == 0) return nullptr;
    }
}

const Symbol* Parser::find_register(Function& f, std::string_view name) {
    for (std::uint32_t s = scope_;; s = scopes_[s].parent) {
        auto& scope = scopes_[s];
        const auto at = scope.names.find(name);
        if (at != scope.names.end()) return &at->second;
        std::size_t digits = name.size();
        while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
        if (digits < name.size() && name.size() - digits <= 10) {
            // A prefix may itself end in digits: %r1<5> declares %r10 to %r14.
            for (const auto& range : scope.ranges) {
                if (range.prefix.size() < digits || range.prefix.size() >= name.size() ||
                    name.substr(0, range.prefix.size()) != range.prefix)
                    continue;
                const std::string_view suffix = name.substr(range.prefix.size());
                if (suffix.size() > 1 && suffix[0] == '0') continue;
                std::uint64_t number = 0;
                for (const char c : suffix) number = number * 10 + static_cast<unsigned>(c - '0');
                if (number >= range.count) continue;
                const auto index = static_cast<std::uint32_t>(f.registers.size());
                f.registers.insert(f.registers.end(), range.type.count, range.type.type);
                f.register_names.push_back({name, index, range.type.count});
                const Symbol symbol{Symbol::Kind::reg, index, range.type.count};
                return &scope.names.emplace(name, symbol).first->second;
            }
        }
        if (s == 0) return nullptr;
    }
}

}  // namespace cupola::ptx
