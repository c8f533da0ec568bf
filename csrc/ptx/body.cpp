// csrc/ptx/body.cpp - parses the statements of a function.
#include <utility>

#include "ptx/operand_check.hpp"
#include "ptx/parser.hpp"

namespace cupola::ptx {
namespace {

// mad.f32 needs a rounding modifier since PTX 3.2, and for sm_20 or newer (9.7.3.7). Without one,
// it rounds to nearest.
std::string with_rounding(std::string_view opcode, const Module& module) {
    const bool old = module.version < 32 || module.target < 20;
    if (old && opcode.substr(0, 4) == "mad.")
        for (const char* end : {".f32", ".sat.f32"})
            for (const char* flush : {"", ".ftz"})
                if (opcode.substr(3) == std::string(flush) + end)
                    return "mad.rn" + std::string(opcode.substr(3));
    return std::string(opcode);
}

bool can_flush(const Form& form) {
    for (unsigned n = 0; n < form.slots.count; ++n)
        if (form.slots.list[n]->field.width == 1 &&
            form.slots.list[n]->field.shift == field::ftz.shift)
            return true;
    return false;
}

}  // namespace

void Parser::open_scope() {
    NameScope scope;
    scope.parent = scope_;
    scope.frame_at = frame_at_;
    scope_ = static_cast<std::uint32_t>(scopes_.size());
    scopes_.push_back(std::move(scope));
}

// The names stay, because labels are resolved at the end. The frame's bytes can be reused.
void Parser::close_scope() {
    frame_at_ = scopes_[scope_].frame_at;
    scope_ = scopes_[scope_].parent;
    if (scope_ == 0) scopes_.resize(1);
}

void Parser::body(Function& f) {
    std::size_t depth = 0;
    Instruction begin;
    begin.line = f.line;
    for (const RegisterParameter& p : register_formals_) move_parameter(f, begin, p, true);
    do {
        if (peek().kind == Token::Kind::end)
            fail(peek(), "expected '}' before the end of the text");
        if (accept('{')) {
            if (++depth > 200) fail(peek(), "braces are nested more than 200 deep");
            if (depth > 1) open_scope();
        } else if (accept('}')) {
            if (--depth > 0) close_scope();
        } else {
            statement(f);
        }
    } while (depth != 0);
    Instruction end;
    end.line = f.line;
    store_results(f, end);
    resolve_labels(f);
}

void Parser::statement(Function& f) {
    if (skip_debug() || accept(';')) return;
    const Token& token = peek();
    if (token.kind == Token::Kind::directive) {
        take();
        if (token.text == ".reg") return register_declaration(f);
        if (token.text == ".local") return local_variable(f, Space::local);
        if (token.text == ".param") return local_variable(f, Space::param);
        if (token.text == ".shared") return module_variable({}, Space::shared);
        if (token.text == ".global") return module_variable({}, Space::global);
        if (token.text == ".const") return module_variable({}, Space::constant);
        fail(token, "directive " + std::string(token.text) + " is not supported",
             Error::Kind::unsupported_form);
    }
    if (token.kind == Token::Kind::word && peek(1).kind == Token::Kind::mark &&
        peek(1).mark == ':') {
        expect_name("a label");
        take();
        if (at_directive(".branchtargets")) return branch_targets(f, token.text);
        if (at_directive(".callprototype")) return call_prototype(token.text);
        if (at_directive(".calltargets")) return call_targets(token.text);
        return label(f, token);
    }
    instruction(f);
}

void Parser::local_variable(Function& f, Space space) {
    const Declared declared = declaration(space, {});
    do {
        const Token& start = peek();
        Declared d = declared;
        declare_name(d);
        check_size(d, start);
        for (const std::string_view name : names_of(d, start)) {
            d.variable.name = std::string(name);
            add_frame(f, name, d.variable, start);
            if (f.frame_bytes > 512 * 1024)
                fail(start, "function '" + f.name +
                                "' needs more than 512 KiB of local memory for each thread");
        }
    } while (accept(','));
    expect(';');
}

// Adds a variable without a name.
std::uint32_t Parser::place_frame(Function& f, Variable variable) {
    variable.offset = (frame_at_ + variable.align - 1) / variable.align * variable.align;
    frame_at_ = variable.offset + variable.size;
    if (frame_at_ > f.frame_bytes) f.frame_bytes = frame_at_;
    f.frame.push_back(std::move(variable));
    return static_cast<std::uint32_t>(f.frame.size() - 1);
}

std::uint32_t Parser::add_frame(Function& f, std::string_view name, Variable variable,
                                const Token& at) {
    const auto index = static_cast<std::uint32_t>(f.frame.size());
    if (!scopes_[scope_].names.emplace(name, Symbol{Symbol::Kind::frame, index}).second)
        fail(at, "'" + variable.name + "' is declared twice");
    return place_frame(f, std::move(variable));
}

void Parser::label(Function& f, const Token& name) {
    const auto index = static_cast<std::uint32_t>(f.labels.size());
    if (!scopes_[scope_].labels.emplace(name.text, index).second)
        fail(name, "label '" + std::string(name.text) + "' is defined twice");
    f.labels.push_back(static_cast<std::uint32_t>(f.code.size()));
}

void Parser::branch_targets(Function& f, std::string_view name) {
    const Token& start = take();
    std::vector<std::uint32_t> targets;
    do {
        const std::uint32_t reference = label_reference(expect_word("a label"));
        targets.push_back(reference);
    } while (accept(','));
    expect(';');
    const auto index = static_cast<std::uint32_t>(f.tables.size());
    if (!scopes_[scope_].names.emplace(name, Symbol{Symbol::Kind::table, index}).second)
        fail(start, "'" + std::string(name) + "' is declared twice");
    f.tables.push_back(std::move(targets));
}

void Parser::instruction(Function& f) {
    Instruction i;
    i.line = peek().line;
    if (accept('@')) {
        i.guard_negated = accept('!');
        const Token& token = peek();
        i.guard = expect_register(f, "a predicate").index;
        if (f.registers[i.guard] != Type::pred)
            fail(token, "guard " + quoted(token) + " is not a predicate");
    }
    const Token& opcode = peek();
    if (opcode.kind != Token::Kind::word)
        fail(opcode, "expected an instruction, got " + quoted(opcode));
    take();
    auto known = matched_.find(opcode.text);
    if (known == matched_.end()) {
        const std::string spelled = with_rounding(opcode.text, module_);
        known = matched_.emplace(opcode.text, match(spelled)).first;
    }
    const std::vector<Candidate>& candidates = known->second;
    if (candidates.empty()) {
        const std::string_view word = opcode.text.substr(0, opcode.text.find('.'));
        fail(opcode,
             (is_mnemonic(word) ? "unsupported form of an instruction: '"
                                : "unknown instruction: '") +
                 std::string(opcode.text.substr(0, 100)) + "'",
             Error::Kind::unsupported_form);
    }
    // The manual does not say which results such instructions have.
    if (module_.no_doubles && opcode.text.find(".f64") != std::string_view::npos)
        fail(opcode, "instructions of .f64 are not supported where .target has map_f64_to_f32",
             Error::Kind::unsupported_form);
    operands_.clear();
    const Opcode found = candidates[0].form.opcode();
    if (found == Opcode::call) {
        i.form = candidates[0].form;
        return call(f, i);
    }
    operands(f);
    if (found == Opcode::ld || found == Opcode::st || found == Opcode::st_async)
        elements_in_memory(f, static_cast<Space>(field::space.get(candidates[0].modifiers)),
                           opcode);
    if (!indices_.empty() && found != Opcode::mov)
        fail(opcode, std::string(opcode.text.substr(0, opcode.text.find('.'))) +
                         " cannot use an array element; load it with ld or mov first");
    std::string wrong;
    if (indices_.empty() && add_instruction(f, i, candidates, wrong)) return;
    // variable + constant in place of a register: the address is moved into a register.
    const std::vector<Operand> written = operands_;
    const std::size_t made = made_.size();
    for (const unsigned bytes : {8u, 4u}) {
        operands_ = written;
        made_.resize(made);
        if (address_sums(f, bytes) && add_instruction(f, i, candidates, wrong)) return;
    }
    fail(opcode, std::string(opcode.text) + ": " + wrong);
}

bool Parser::add_instruction(Function& f, Instruction& i, const std::vector<Candidate>& candidates,
                             std::string& wrong) {
    const CheckContext here{module_, f, operands_.data(),
                            static_cast<std::uint32_t>(operands_.size())};
    for (const Candidate& c : candidates) {
        const std::string reason = check_operands(c, here);
        if (!reason.empty()) {
            if (wrong.empty()) wrong = reason;
            continue;
        }
        i.form = c.form;
        i.type = c.type;
        i.type2 = c.type2;
        i.modifiers = c.modifiers;
        if (module_.target < 20 && can_flush(c.form.form()))
            i.modifiers |= field::ftz.put(1);  // these targets have no subnormal numbers
        for (const Made& made : made_) emit(f, i, made.opcode, made.operands);
        if (c.form.opcode() == Opcode::ret) store_results(f, i);
        i.operand = static_cast<std::uint32_t>(f.operands.size());
        i.operands = static_cast<std::uint32_t>(operands_.size());
        f.operands.insert(f.operands.end(), operands_.begin(), operands_.end());
        f.code.push_back(i);
        return true;
    }
    return false;
}

std::uint32_t Parser::label_reference(std::string_view name) {
    references_.push_back({name, scope_, peek().line});
    return static_cast<std::uint32_t>(references_.size() - 1);
}

void Parser::resolve_labels(Function& f) {
    const auto resolved = [&](std::uint32_t reference) {
        const LabelReference& r = references_[reference];
        for (std::uint32_t s = r.scope; s != 0; s = scopes_[s].parent) {
            const auto at = scopes_[s].labels.find(r.name);
            if (at != scopes_[s].labels.end()) return at->second;
        }
        fail_line(r.line, "unknown name '" + std::string(r.name) + "'");
    };
    for (Operand& o : f.operands)
        if (o.kind == Operand::Kind::label) o.index = resolved(o.index);
    for (auto& table : f.tables)
        for (auto& target : table) target = resolved(target);
}

}  // namespace cupola::ptx
