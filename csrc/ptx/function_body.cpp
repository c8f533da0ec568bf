// csrc/ptx/function_body.cpp - parses the statements of a function.
#include "ptx/function_body.hpp"

#include "ptx/operand_check.hpp"
#include "ptx/target_check.hpp"

namespace cupola::ptx {

namespace {

bool can_flush(const Form& form) {
    for (unsigned n = 0; n < form.slots.count; ++n)
        if (form.slots.list[n]->field.width == 1 &&
            form.slots.list[n]->field.shift == field::ftz.shift)
            return true;
    return false;
}

}  // namespace

void FunctionBody::read(Function& f, const std::vector<RegisterParameter>& formals,
                        const std::vector<RegisterParameter>& results) {
    const Current current = {f, results};
    labels_.clear();
    std::size_t depth = 0;
    Instruction begin;
    begin.line = f.line;
    for (const RegisterParameter& p : formals) code_.move_parameter(f, begin, p, true);
    do {
        if (tokens_.peek().kind == Token::Kind::end)
            tokens_.fail(tokens_.peek(), "expected '}' before the end of the text");
        if (tokens_.accept('{')) {
            if (++depth > 200) tokens_.fail(tokens_.peek(), "braces are nested more than 200 deep");
            if (depth > 1) scopes_.open();
        } else if (tokens_.accept('}')) {
            if (--depth > 0) scopes_.close();
        } else {
            statement(current);
        }
    } while (depth != 0);
    Instruction end;
    end.line = f.line;
    store_results(current, end);
    labels_.resolve(f);
}

void FunctionBody::statement(const Current& current) {
    Function& f = current.f;
    if (tokens_.skip_debug() || tokens_.accept(';')) return;
    const Token& token = tokens_.peek();
    if (token.kind == Token::Kind::directive) {
        tokens_.take();
        if (token.text == ".reg") return registers_.read_declaration(f);
        if (token.text == ".local") return declarations_.local_variable(f, Space::local);
        if (token.text == ".param") return declarations_.local_variable(f, Space::param);
        if (token.text == ".shared") return declarations_.module_variable({}, Space::shared);
        if (token.text == ".global") return declarations_.module_variable({}, Space::global);
        if (token.text == ".const") return declarations_.module_variable({}, Space::constant);
        tokens_.fail(token, "directive " + std::string(token.text) + " is not supported",
                     Error::Kind::unsupported_form);
    }
    if (token.kind == Token::Kind::word && tokens_.peek(1).kind == Token::Kind::mark &&
        tokens_.peek(1).mark == ':') {
        tokens_.expect_name("a label");
        tokens_.take();
        if (tokens_.at_directive(".branchtargets")) return branch_targets(f, token.text);
        if (tokens_.at_directive(".callprototype")) return calls_.read_prototype(token.text);
        if (tokens_.at_directive(".calltargets")) return calls_.read_targets(token.text);
        return labels_.define(f, token);
    }
    instruction(current);
}

void FunctionBody::branch_targets(Function& f, std::string_view name) {
    const Token& start = tokens_.take();
    std::vector<std::uint32_t> targets;
    do {
        const std::string_view label = tokens_.expect_word("a label");
        targets.push_back(labels_.reference(label, tokens_.peek().line));
    } while (tokens_.accept(','));
    tokens_.expect(';');
    const auto index = static_cast<std::uint32_t>(f.tables.size());
    if (!scopes_.current().names.emplace(name, Symbol{Symbol::Kind::table, index}).second)
        tokens_.fail(start, "'" + std::string(name) + "' is declared twice");
    f.tables.push_back(std::move(targets));
}

void FunctionBody::instruction(const Current& current) {
    Function& f = current.f;
    Instruction i;
    i.line = tokens_.peek().line;
    if (tokens_.accept('@')) {
        i.guard_negated = tokens_.accept('!');
        const Token& token = tokens_.peek();
        i.guard = registers_.expect_register(f, "a predicate").index;
        if (f.registers[i.guard] != Type::pred)
            tokens_.fail(token, "guard " + quoted(token) + " is not a predicate");
    }
    if (const Token& first = tokens_.peek(); first.kind != Token::Kind::word)
        tokens_.fail(first, "expected an instruction, got " + quoted(first));
    const Token opcode = tokens_.take_spaced();
    const std::vector<Candidate>& candidates = code_.candidates(opcode.text);
    if (candidates.empty()) {
        const std::string_view word = opcode.text.substr(0, opcode.text.find('.'));
        tokens_.fail(opcode,
                     (is_mnemonic(word) ? "unsupported form of an instruction: '"
                                        : "unknown instruction: '") +
                         std::string(opcode.text.substr(0, 100)) + "'",
                     Error::Kind::unsupported_form);
    }
    // The manual does not say which results such instructions have.
    if (module_.no_doubles && opcode.text.find(".f64") != std::string_view::npos)
        tokens_.fail(opcode,
                     "instructions of .f64 are not supported where .target has map_f64_to_f32",
                     Error::Kind::unsupported_form);
    const Opcode found = candidates[0].form.opcode();
    if (found == Opcode::call) {
        i.form = candidates[0].form;
        return calls_.read_call(f, i);
    }
    operands_.read(f);
    if (found == Opcode::ld || found == Opcode::st || found == Opcode::st_async)
        sums_.elements_in_memory(f, operands_.operands(),
                                 static_cast<Space>(field::space.get(candidates[0].modifiers)),
                                 opcode);
    if (sums_.has_indices() && found != Opcode::mov)
        tokens_.fail(opcode, std::string(opcode.text.substr(0, opcode.text.find('.'))) +
                                 " cannot use an array element; load it with ld or mov first");
    std::string wrong;
    if (!sums_.has_indices() && add_instruction(current, i, opcode.text, candidates, wrong)) return;
    // variable + constant in place of a register: the address is moved into a register.
    const std::vector<Operand> written = operands_.operands();
    const std::size_t made = sums_.made();
    for (const unsigned bytes : {8u, 4u}) {
        operands_.operands() = written;
        sums_.return_to(made);
        if (sums_.address_sums(f, operands_.operands(), bytes) &&
            add_instruction(current, i, opcode.text, candidates, wrong))
            return;
    }
    tokens_.fail(opcode, std::string(opcode.text) + ": " + wrong);
}

bool FunctionBody::add_instruction(const Current& current, Instruction& i, std::string_view opcode,
                                   const std::vector<Candidate>& candidates, std::string& wrong) {
    Function& f = current.f;
    const std::vector<Operand>& operands = operands_.operands();
    const CheckContext here{module_, f, operands.data(),
                            static_cast<std::uint32_t>(operands.size())};
    for (const Candidate& c : candidates) {
        const std::string reason = check_operands(c, here);
        if (!reason.empty()) {
            if (wrong.empty()) wrong = reason;
            continue;
        }
        // The operands fit this row, so a lack of the target is the better reason.
        const std::string lack = check_target(c, opcode, module_.target);
        if (!lack.empty()) {
            wrong = lack;
            continue;
        }
        i.form = c.form;
        i.type = c.type;
        i.type2 = c.type2;
        i.modifiers = c.modifiers;
        if (module_.target.number < 20 && can_flush(c.form.form()))
            i.modifiers |= field::ftz.put(1);  // these targets have no subnormal numbers
        sums_.emit(f, i, code_);
        if (c.form.opcode() == Opcode::ret) store_results(current, i);
        i.operand = static_cast<std::uint32_t>(f.operands.size());
        i.operands = static_cast<std::uint32_t>(operands.size());
        f.operands.insert(f.operands.end(), operands.begin(), operands.end());
        f.code.push_back(i);
        return true;
    }
    return false;
}

// Added before each return and at the end of the body.
void FunctionBody::store_results(const Current& current, const Instruction& like) {
    for (const RegisterParameter& p : current.results)
        code_.move_parameter(current.f, like, p, false);
}

}  // namespace cupola::ptx
