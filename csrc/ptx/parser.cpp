// csrc/ptx/parser.cpp - a module's directives, and the heads of its functions.
#include "ptx/parser.hpp"

#include <algorithm>
#include <utility>

#include "ptx/device_runtime.hpp"
#include "ptx/outline.hpp"

namespace cupola::ptx {

namespace {

Module parse_all(std::string_view source, const std::vector<Piece>& pieces) {
    std::vector<Token> tokens;
    for (const Piece& piece : pieces) {
        if (!tokens.empty()) tokens.pop_back();  // the end of the piece before
        const std::vector<Token> more = lex(piece.text, piece.line);
        tokens.insert(tokens.end(), more.begin(), more.end());
    }
    if (tokens.empty()) tokens = lex({});
    return Parser(source, std::move(tokens)).run();
}

}  // namespace

Module parse(std::string_view source) { return parse(source, {{source, 1}}); }

Module parse(std::string_view source, const std::vector<Piece>& pieces) {
    Module module = parse_all(source, pieces);
    const std::vector<Piece> missing = device_runtime(module);
    if (missing.empty()) return module;
    std::vector<Piece> all = pieces;
    all.insert(all.end(), missing.begin(), missing.end());
    return parse_all(source, all);
}

Parser::Parser(std::string_view source, std::vector<Token> tokens)
    : source_(source), tokens_(std::move(tokens)) {
    scopes_.emplace_back();
}

Module Parser::run() {
    header();
    while (peek().kind != Token::Kind::end) module_statement();
    resolve_aliases();
    place_open_formals();
    return std::move(module_);
}

const Token& Parser::peek(std::size_t ahead) const {
    const std::size_t i = at_ + ahead;
    return i < tokens_.size() ? tokens_[i] : tokens_.back();
}

const Token& Parser::take() {
    const Token& token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
}

bool Parser::at_mark(char c) const { return peek().kind == Token::Kind::mark && peek().mark == c; }

bool Parser::at_directive(std::string_view name) const {
    return peek().kind == Token::Kind::directive && peek().text == name;
}

bool Parser::accept(char c) {
    if (!at_mark(c)) return false;
    take();
    return true;
}

void Parser::expect(char c) {
    if (!accept(c))
        fail(peek(), std::string("'") + c + "' is missing before '" +
                         std::string(peek().text.substr(0, 60)) + "'");
}

std::string_view Parser::expect_word(const char* what) {
    if (peek().kind != Token::Kind::word) fail(peek(), std::string(what) + " is missing");
    return take().text;
}

std::string_view Parser::expect_name(const char* what) {
    const Token& token = peek();
    const std::string_view name = expect_word(what);
    if (name.find_first_of(".:") != std::string_view::npos)
        fail(token, std::string(what) + " has no '.' or ':' in it");
    return name;
}

void Parser::fail(const Token& at, const std::string& message, Error::Kind kind) const {
    fail_line(at.line, message, kind);
}

void Parser::fail_line(std::uint32_t line, const std::string& message, Error::Kind kind) const {
    throw Error(kind, line, std::string(line_text(source_, line)), message);
}

void Parser::header() {
    if (!at_directive(".version")) fail(peek(), "a module starts with .version");
    version();
    if (!at_directive(".target")) fail(peek(), ".target is missing");
    target();
    if (at_directive(".address_size")) {
        take();
        const std::uint64_t bits = constant_unsigned("address size");
        if (bits != 64)
            fail(peek(), "only .address_size 64 is supported", Error::Kind::unsupported_form);
    }
}

// The lexer reads "9.0" as a floating-point number; its text is what counts.
void Parser::version() {
    take();
    const Token& token = take();
    const std::string_view text = token.text;
    const std::size_t dot = text.find('.');
    if (token.kind != Token::Kind::real || dot == std::string_view::npos || dot > 2 ||
        text.size() != dot + 2)
        fail(token, "a version such as 9.0 is missing");
    int major = 0;
    for (const char c : text.substr(0, dot)) {
        if (c < '0' || c > '9') fail(token, "a version such as 9.0 is missing");
        major = major * 10 + (c - '0');
    }
    if (text[dot + 1] < '0' || text[dot + 1] > '9') fail(token, "a version such as 9.0 is missing");
    module_.version = major * 10 + (text[dot + 1] - '0');
    if (major < 1 || major > 9)
        fail(token, "PTX version " + std::string(text) + " is not supported",
             Error::Kind::unsupported_version);
}

void Parser::target() {
    take();
    std::string_view mode;
    do {
        const Token& token = peek();
        const std::string_view word = expect_word("a target such as sm_75");
        if (word.substr(0, 7) == "texmode") {
            if (word != "texmode_unified" && word != "texmode_independent")
                fail(token, "an unknown texturing mode");
            if (!mode.empty() && mode != word) fail(token, "two texturing modes");
            mode = word;
            continue;
        }
        if (word == "debug") continue;
        int number = 0;
        std::size_t i = 3;
        for (; i < word.size() && i < 7 && word[i] >= '0' && word[i] <= '9'; ++i)
            number = number * 10 + (word[i] - '0');
        if (word.substr(0, 3) != "sm_" || number < 10 || i + 1 < word.size())
            fail(token, "an unknown target");
        module_.target = number;
    } while (accept(','));
    if (module_.target == 0) fail(peek(), "a target such as sm_75 is missing");
    module_.independent_samplers = mode == "texmode_independent";
}

bool Parser::skip_debug() {
    const std::uint32_t line = peek().line;
    if (at_directive(".file") || at_directive(".loc")) {
        // .file 1 "name"[, time, size] and .loc file line column[, ...] end with their line.
        while (peek().kind != Token::Kind::end && peek().line == line) take();
        return true;
    }
    if (at_directive(".section")) {
        take();
        take();  // its name
        if (!at_mark('{')) fail(peek(), "'{' is wanted behind a section's name");
        skip_braces();
        return true;
    }
    if (at_directive(".pragma")) {
        while (peek().kind != Token::Kind::end && !at_mark(';')) take();
        expect(';');
        return true;
    }
    return false;
}

void Parser::skip_braces() {
    std::size_t depth = 0;
    do {
        if (peek().kind == Token::Kind::end) fail(peek(), "'}' is missing at the end");
        if (at_mark('{')) ++depth;
        if (at_mark('}')) --depth;
        take();
    } while (depth != 0);
}

void Parser::module_statement() {
    if (skip_debug() || accept(';')) return;
    Prefix prefix;
    prefix.line = peek().line;
    prefix.external = at_directive(".extern");
    prefix.common = at_directive(".common");
    prefix.visible = prefix.common || at_directive(".visible") || at_directive(".weak");
    if (prefix.external || prefix.visible) take();
    const Token& token = take();
    if (token.kind != Token::Kind::directive)
        fail(token, "a directive is wanted, not '" + std::string(token.text.substr(0, 60)) + "'");
    if (prefix.common && token.text != ".global") fail(token, ".common is for .global variables");
    if (token.text == ".entry") return function(prefix, true);
    if (token.text == ".func") return function(prefix, false);
    if (token.text == ".alias") return alias();
    if (token.text == ".global") return module_variable(prefix, Space::global);
    if (token.text == ".const") return module_variable(prefix, Space::constant);
    if (token.text == ".shared") return module_variable(prefix, Space::shared);
    fail(token, "directive " + std::string(token.text) + " is not supported",
         Error::Kind::unsupported_form);
}

void Parser::module_variable(const Prefix& prefix, Space space) {
    const Declared declared = declaration(space, prefix);
    do {
        const Token& start = peek();
        Declared d = declared;
        declare_name(d);
        if (at_mark('=')) initialiser(d);
        check_size(d, start);
        for (const std::string_view name : names_of(d, start))
            add_variable(prefix, name, d.variable, start);
    } while (accept(','));
    expect(';');
}

void Parser::add_variable(const Prefix& prefix, std::string_view name, Variable variable,
                          const Token& at) {
    variable.name = std::string(name);
    auto& names = scopes_[scope_].names;  // a function's own statics are named in its scope
    const auto index = static_cast<std::uint32_t>(module_.variables.size());
    const auto [known, fresh] = names.emplace(name, Symbol{Symbol::Kind::variable, index});
    if (fresh) {
        module_.variables.push_back(std::move(variable));
        return;
    }
    // An extern declaration, and the definition it announced.
    Variable* before = known->second.kind == Symbol::Kind::variable
                           ? &module_.variables[known->second.index]
                           : nullptr;
    if (!before || (!before->external && !prefix.external) || before->space != variable.space)
        fail(at, "'" + variable.name + "' is declared twice");
    if (!prefix.external && !prefix.visible)
        fail(at, "'" + variable.name + "' is .extern on line " + std::to_string(before->line) +
                     ", and here no other module sees it");
    const bool open = before->unsized || variable.unsized;
    if (before->type != variable.type || before->array != variable.array ||
        (!open && before->size != variable.size))
        fail(at, "'" + variable.name + "' differs from its declaration on line " +
                     std::to_string(before->line));
    if (before->external && (!variable.external || before->unsized)) *before = std::move(variable);
}

void Parser::function(const Prefix& prefix, bool entry) {
    Function f;
    f.entry = entry;
    f.visible = prefix.visible;
    f.line = prefix.line;
    references_.clear();
    prototypes_.clear();
    frame_at_ = 0;
    open_scope();
    register_formals_.clear();
    register_results_.clear();
    if (!entry && at_mark('(')) parameters(f, f.results, false, register_results_);
    if (f.results.size() > 1 && register_results_.size() != f.results.size())
        fail(peek(), "a function with several results has each of them in registers");
    const Token& name = peek();
    f.name = std::string(expect_name("a function's name"));
    if (at_mark('(')) parameters(f, f.formals, entry, register_formals_);
    const std::uint64_t after_formals = frame_at_;
    if (entry) frame_at_ = 0;  // an entry's parameters lie in a bank of their own
    f.frame_bytes = entry ? 0 : after_formals;
    head_directives(f);
    const std::uint32_t index = declare_function(f, name);
    if (accept(';')) {
        close_scope();
        return;
    }
    if (!at_mark('{')) fail(peek(), "'{' or ';' is missing behind the head of a function");
    if (module_.functions[index].defined) fail(name, "'" + f.name + "' is defined twice");
    if (prefix.external) fail(name, "'" + f.name + "' is .extern, and defined here");
    f.defined = true;
    body(f);
    close_scope();
    f.address_taken |= module_.functions[index].address_taken;
    module_.functions[index] = std::move(f);
}

// Also of a kernel: a value to compare and to keep, which is not called.
void Parser::take_address(std::uint32_t function) {
    module_.functions[function].address_taken = true;
}

// An open array of a function's formals is as long as the longest argument that a call of the
// module passes to one; what lies behind it in the frame moves.
void Parser::place_open_formals() {
    if (open_bytes_ == 0) return;
    for (Function& f : module_.functions) {
        if (f.entry || f.formals.empty() || !f.frame[f.formals.back()].unsized) continue;
        const std::uint32_t open = f.formals.back();
        std::uint64_t align = 1;
        for (const Variable& v : f.frame) align = std::max<std::uint64_t>(align, v.align);
        const std::uint64_t moved = (open_bytes_ + align - 1) / align * align;
        for (std::size_t n = open + 1; n < f.frame.size(); ++n) f.frame[n].offset += moved;
        f.frame[open].size = open_bytes_;
        f.frame_bytes += moved;
    }
}

std::uint32_t Parser::declare_function(Function& f, const Token& name) {
    const auto next = static_cast<std::uint32_t>(module_.functions.size());
    const auto [at, fresh] =
        scopes_[0].names.emplace(name.text, Symbol{Symbol::Kind::function, next});
    if (!fresh) {
        if (at->second.kind != Symbol::Kind::function)
            fail(name, "'" + f.name + "' is declared twice");
        const Function& before = module_.functions[at->second.index];
        if (before.entry != f.entry)
            fail(name, "'" + f.name + "' is declared as a kernel and as a function");
        check_declaration(f, before, name);
        return at->second.index;
    }
    Function declared;
    declared.name = f.name;
    declared.entry = f.entry;
    declared.visible = f.visible;
    declared.line = f.line;
    declared.frame = f.frame;
    declared.frame_bytes = f.frame_bytes;
    declared.formals = f.formals;
    declared.results = f.results;
    module_.functions.push_back(std::move(declared));
    return next;
}

// Calls are checked against the declaration and made to the definition.
void Parser::check_declaration(const Function& f, const Function& before, const Token& at) const {
    const std::string what = (f.entry ? "kernel '" : "function '") + f.name + "' differs from ";
    const std::string line = "its declaration on line " + std::to_string(before.line);
    const auto compare = [&](const std::vector<std::uint32_t>& mine,
                             const std::vector<std::uint32_t>& earlier, const char* part) {
        if (mine.size() != earlier.size())
            fail(at, what + line + ": " + std::to_string(mine.size()) + " " + part +
                         "s here, and " + std::to_string(earlier.size()) + " there");
        for (std::size_t n = 0; n < mine.size(); ++n) {
            const std::string here = written(f.frame[mine[n]]);
            const std::string there = written(before.frame[earlier[n]]);
            if (here != there)
                fail(at, what + line + ": " + part + " " + std::to_string(n + 1) + " is " + here +
                             " here, and " + there + " there");
        }
    };
    compare(f.formals, before.formals, "parameter");
    compare(f.results, before.results, "result");
}

// A parameter's space, alignment, type and size, as a declaration has them.
std::string Parser::written(const Variable& v) {
    const std::uint64_t element = std::max(bytes_of(v.type), 1u);
    std::string text = v.in_register ? ".reg" : ".param";
    if (v.type == Type::pred) return text + " .pred";
    if (!v.in_register && v.align != element) text += " .align " + std::to_string(v.align);
    if (!v.array && v.size > element) text += " .v" + std::to_string(v.size / element);
    text += " ." + std::string(name_of(v.type));
    if (v.array) text += "[" + (v.unsized ? "" : std::to_string(v.size / element)) + "]";
    return text;
}

void Parser::parameters(Function& f, std::vector<std::uint32_t>& list, bool entry,
                        std::vector<RegisterParameter>& registers) {
    expect('(');
    while (!at_mark(')')) {
        const Token& token = peek();
        if (!list.empty() && f.frame[list.back()].unsized)
            fail(token, "an array without a size is a function's last parameter");
        list.push_back(parameter(f, entry, registers));
        if (f.frame[list.back()].unsized && (entry || &list == &f.results))
            fail(token, "only a function's last parameter may be an array without a size");
        if (!accept(',')) break;
    }
    expect(')');
}

std::uint32_t Parser::parameter(Function& f, bool entry,
                                std::vector<RegisterParameter>& registers) {
    const Token& start = peek();
    const std::uint64_t limit = entry ? 32764 : 65536;
    std::uint32_t index;
    if (!entry && at_directive(".reg")) {
        registers.push_back(register_parameter(f));
        index = registers.back().frame;
    } else {
        if (!at_directive(".param"))
            fail(start, entry ? "a parameter of a kernel lies in .param"
                              : "a parameter lies in .param or in .reg");
        take();
        Declared d = declaration(Space::param, {});
        const Token& name = peek();
        declare_name(d);
        if (d.range) fail(name, "a parameter has no number of names");
        if (d.dims.size() > 1) fail(name, "a parameter is an array of one dimension at most");
        if (!d.variable.unsized) check_size(d, start);
        if (d.variable.size > limit)
            fail(start, "parameters of more than " + std::to_string(limit) + " bytes");
        if (!entry && d.variable.align > 128)
            fail(start, "a function's parameter is aligned to 128 bytes at most");
        d.variable.name = std::string(d.name);
        index = add_frame(f, d.name, std::move(d.variable), start);
    }
    if (frame_at_ > limit)
        fail(start, "parameters of more than " + std::to_string(limit) + " bytes");
    return index;
}

void Parser::head_directives(Function& f) {
    for (;;) {
        if (f.entry && skip_debug()) continue;
        if (peek().kind != Token::Kind::directive) break;
        const Token& token = take();
        std::uint32_t sizes[3];
        if (!f.entry) {
            if (token.text == ".noreturn") continue;
            if (token.text != ".abi_preserve" && token.text != ".abi_preserve_control")
                fail(token, "directive " + std::string(token.text) + " is for kernels",
                     Error::Kind::unsupported_form);
            constant_unsigned("a number of registers");
        } else if (token.text == ".maxntid") {
            dimensions(f.max_threads);
        } else if (token.text == ".reqntid") {
            dimensions(f.required_threads);
        } else if (token.text == ".explicitcluster") {
            f.explicit_cluster = true;
        } else if (token.text == ".reqnctapercluster") {
            dimensions(f.required_cluster);
        } else if (token.text == ".maxclusterrank") {
            dimensions(sizes);
            f.max_cluster_rank = sizes[0];
        } else if (token.text == ".maxnreg") {
            dimensions(sizes);
            f.max_registers = sizes[0];
        } else if (token.text == ".minnctapersm") {
            dimensions(sizes);
            f.min_blocks = sizes[0];
        } else if (token.text == ".maxnctapersm") {
            dimensions(sizes);  // an old name of what is a wish
        } else {
            fail(token, "directive " + std::string(token.text) + " is not supported",
                 Error::Kind::unsupported_form);
        }
    }
    if (f.max_cluster_rank != 0 && f.required_cluster[0] != 0)
        fail(peek(), ".maxclusterrank and .reqnctapercluster exclude each other");
}

void Parser::dimensions(std::uint32_t (&out)[3]) {
    out[0] = out[1] = out[2] = 1;
    for (unsigned i = 0; i < 3; ++i) {
        const Token& token = peek();
        const std::uint64_t value = constant_unsigned("a size");
        if (value == 0 || value > 0x7fffffff) fail(token, "a size out of range");
        out[i] = static_cast<std::uint32_t>(value);
        if (!accept(',')) return;
    }
}

}  // namespace cupola::ptx
