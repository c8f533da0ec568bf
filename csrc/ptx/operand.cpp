// csrc/ptx/operand.cpp - operands, and the names they use.
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
};

// %envreg0 to %envreg31; Special::count for any other name.
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

}  // namespace

Operand Parser::operand(Function& f) {
    Operand o;
    if (accept('!')) {
        o = primary(f);
        o.negated = true;
        return o;
    }
    o = primary(f);
    if (at_mark('|')) {
        take();
        const Token& token = peek();
        const std::string_view name = expect_word("a predicate");
        if (name == "_") return o;
        const Symbol* second = find_register(f, name);
        if (!second) fail(token, "unknown register '" + std::string(name) + "'");
        o.second = second->index;
    }
    return o;
}

Operand Parser::primary(Function& f) {
    const Token& token = peek();
    if (token.kind == Token::Kind::word) {
        take();
        return named(f, token);
    }
    if (at_mark('{')) return vector_operand(f);
    if (at_mark('[')) return memory_operand(f);
    return number_operand();
}

Operand Parser::number_operand() {
    Operand o;
    const bool minus = accept('-');
    const Token& token = take();
    switch (token.kind) {
        case Token::Kind::integer:
            o.kind = Kind::integer;
            o.value = static_cast<std::int64_t>(minus ? ~token.value + 1 : token.value);
            return o;
        case Token::Kind::real:
            o.kind = Kind::real;
            o.value = static_cast<std::int64_t>(token.value ^ (minus ? std::uint64_t{1} << 63 : 0));
            return o;
        case Token::Kind::single:
            o.kind = Kind::single;
            o.value = static_cast<std::int64_t>(token.value ^ (minus ? 0x80000000u : 0u));
            return o;
        default:
            fail(token,
                 "an operand is wanted, not '" + std::string(token.text.substr(0, 60)) + "'");
    }
}

Operand Parser::vector_operand(Function& f) {
    take();
    Operand elements[8];
    unsigned count = 0;
    do {
        const Token& token = peek();
        if (count == 8) fail(token, "a vector of more than 8");
        if (at_mark('{') || at_mark('['))
            fail(token, "a vector's element is a register or a constant");
        elements[count++] = primary(f);
    } while (accept(','));
    expect('}');
    Operand o;
    o.kind = Kind::vector;
    o.index = static_cast<std::uint32_t>(f.operands.size());
    o.count = count;
    f.operands.insert(f.operands.end(), elements, elements + count);
    return o;
}

Operand Parser::memory_operand(Function& f) {
    take();
    const Token& token = peek();
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
    if (!address && !pointer) fail(token, "no address: a register of 32 or 64 bits, or a variable");
    if (at_mark('+') || at_mark('-')) {
        const bool minus = take().mark == '-';
        const std::int64_t value = signed_integer();
        o.value = static_cast<std::int64_t>(static_cast<std::uint64_t>(o.value) +
                                            static_cast<std::uint64_t>(minus ? -value : value));
    }
    expect(']');
    return o;
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
                o.kind = Kind::reg;
                o.type = f.registers[s->index];
                return o;
            case Symbol::Kind::table:
                o.kind = Kind::table;
                return o;
            case Symbol::Kind::function:
                o.kind = Kind::function;
                take_address(o.index, token);
                return o;
            case Symbol::Kind::prototype:
                fail(token, "a prototype where an operand is wanted");
            case Symbol::Kind::variable:
                o.kind = Kind::variable;
                break;
            case Symbol::Kind::frame:
                o.kind = Kind::frame;
                break;
        }
        // variable+8; inside [ ] the offset is taken there
        if (at_mark('+') && peek(1).kind == Token::Kind::integer) {
            take();
            o.value = signed_integer();
        }
        return o;
    }
    if (token.text == "WARP_SZ") {
        o.kind = Kind::integer;
        o.value = 32;
        return o;
    }
    if (token.text[0] == '%') {
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
        if (token.text.substr(0, 3) == "%pm")
            fail(token, "special register " + std::string(token.text) + " is not supported",
                 Error::Kind::unsupported_form);
        fail(token, "unknown register '" + std::string(token.text) + "'");
    }
    o.kind = Kind::label;
    o.index = label_reference(token.text);
    references_[o.index].line = token.line;
    return o;
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
                f.registers.push_back(range.type);
                return &scope.names.emplace(name, Symbol{Symbol::Kind::reg, index}).first->second;
            }
        }
        if (s == 0) return nullptr;
    }
}

}  // namespace cupola::ptx
