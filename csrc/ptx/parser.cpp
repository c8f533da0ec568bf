// csrc/ptx/parser.cpp - reads tokens and the directives of a module.
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
        if (!tokens.empty()) tokens.pop_back();  // the end token of the previous piece
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
    if (!accept(c)) fail(peek(), std::string("expected '") + c + "' before " + quoted(peek()));
}

std::string_view Parser::expect_word(const char* what) {
    if (peek().kind != Token::Kind::word)
        fail(peek(), std::string("expected ") + what + ", got " + quoted(peek()));
    return take().text;
}

std::string_view Parser::expect_name(const char* what) {
    const Token& token = peek();
    const std::string_view name = expect_word(what);
    if (name.find_first_of(".:") != std::string_view::npos)
        fail(token, quoted(token) + ": " + what + " cannot contain '.' or ':'");
    return name;
}

std::string Parser::quoted(const Token& token) {
    if (token.kind == Token::Kind::end) return "the end of the text";
    return "'" + std::string(token.text.substr(0, 60)) + "'";
}

void Parser::fail(const Token& at, const std::string& message, Error::Kind kind) const {
    fail_line(at.line, message, kind);
}

void Parser::fail_line(std::uint32_t line, const std::string& message, Error::Kind kind) const {
    throw Error(kind, line, std::string(line_text(source_, line)), message);
}

void Parser::header() {
    if (!at_directive(".version"))
        fail(peek(), "expected .version at the start of the module, got " + quoted(peek()));
    version();
    if (!at_directive(".target"))
        fail(peek(), "expected .target after .version, got " + quoted(peek()));
    target();
    if (at_directive(".address_size")) {
        take();
        const std::uint64_t bits = constant_unsigned("an address size");
        if (bits != 64)
            fail(peek(), ".address_size " + std::to_string(bits) + " is not supported; expected 64",
                 Error::Kind::unsupported_form);
    }
}

// The lexer reads "9.0" as a floating-point number, so the version is read from the text.
void Parser::version() {
    take();
    const Token& token = take();
    const std::string_view text = token.text;
    const std::size_t dot = text.find('.');
    if (token.kind != Token::Kind::real || dot == std::string_view::npos || dot > 2 ||
        text.size() != dot + 2)
        fail(token, "expected a version such as 9.0, got " + quoted(token));
    int major = 0;
    for (const char c : text.substr(0, dot)) {
        if (c < '0' || c > '9') fail(token, "expected a version such as 9.0, got " + quoted(token));
        major = major * 10 + (c - '0');
    }
    if (text[dot + 1] < '0' || text[dot + 1] > '9')
        fail(token, "expected a version such as 9.0, got " + quoted(token));
    module_.version = major * 10 + (text[dot + 1] - '0');
    if (major < 1 || major > 9)
        fail(token, "PTX version " + std::string(text) + " is not supported; expected 1.0 to 9.9",
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
                fail(token, "unknown texturing mode " + quoted(token) +
                                "; expected texmode_unified or texmode_independent");
            if (!mode.empty() && mode != word)
                fail(token,
                     std::string(mode) + " and " + std::string(word) + " exclude each other");
            mode = word;
            continue;
        }
        if (word == "debug") {
            module_.debug = true;
            continue;
        }
        if (word == "map_f64_to_f32") {
            module_.no_doubles = true;
            continue;
        }
        int number = 0;
        std::size_t i = 3;
        for (; i < word.size() && i < 7 && word[i] >= '0' && word[i] <= '9'; ++i)
            number = number * 10 + (word[i] - '0');
        if (word.substr(0, 3) != "sm_" || number < 10 || i + 1 < word.size())
            fail(token, "unknown target " + quoted(token) + "; expected a target such as sm_75");
        module_.target = number;
    } while (accept(','));
    if (module_.target == 0) fail(peek(), "expected a target such as sm_75, got " + quoted(peek()));
    if (module_.no_doubles && module_.target >= 13)
        fail(peek(), "map_f64_to_f32 is for targets below sm_13, which have no .f64");
    module_.independent_samplers = mode == "texmode_independent";
}

bool Parser::skip_debug() {
    const std::uint32_t line = peek().line;
    if (at_directive(".file") || at_directive(".loc")) {
        // .file 1 "name"[, time, size] and .loc file line column[, ...] end at the end of the line.
        while (peek().kind != Token::Kind::end && peek().line == line) take();
        return true;
    }
    if (at_directive(".section")) {
        take();
        take();  // its name
        if (!at_mark('{'))
            fail(peek(), "expected '{' after the section's name, got " + quoted(peek()));
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
        if (peek().kind == Token::Kind::end)
            fail(peek(), "expected '}' before the end of the text");
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
        fail(token, "expected a directive, got " + quoted(token));
    if (prefix.common && token.text != ".global")
        fail(token, ".common applies only to .global variables, not to " + quoted(token));
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
    auto& names =
        scopes_[scope_].names;  // a static variable of a function is in the function's scope
    const auto index = static_cast<std::uint32_t>(module_.variables.size());
    const auto [known, fresh] = names.emplace(name, Symbol{Symbol::Kind::variable, index});
    if (fresh) {
        module_.variables.push_back(std::move(variable));
        return;
    }
    // An extern declaration and its definition.
    Variable* before = known->second.kind == Symbol::Kind::variable
                           ? &module_.variables[known->second.index]
                           : nullptr;
    if (!before || (!before->external && !prefix.external) || before->space != variable.space)
        fail(at, "'" + variable.name + "' is declared twice");
    if (!prefix.external && !prefix.visible)
        fail(at, "'" + variable.name + "' is .extern on line " + std::to_string(before->line) +
                     "; its definition must be .visible");
    const bool open = before->unsized || variable.unsized;
    if (before->type != variable.type || before->array != variable.array ||
        (!open && before->size != variable.size))
        fail(at, "'" + variable.name + "' differs from its declaration on line " +
                     std::to_string(before->line));
    if (before->external && (!variable.external || before->unsized)) *before = std::move(variable);
}

}  // namespace cupola::ptx
