// csrc/ptx/parser.cpp - reads the directives of a module.
#include <utility>

#include "ptx/aliases.hpp"
#include "ptx/constant.hpp"
#include "ptx/device_runtime.hpp"
#include "ptx/functions.hpp"
#include "ptx/outline.hpp"

namespace cupola::ptx {

namespace {

class Parser {
  public:
    Parser(std::string_view source, std::vector<Token> tokens)
        : tokens_(source, std::move(tokens)) {}
    Module run();

  private:
    void header();
    void version();
    void target();
    void module_statement();

    Module module_;
    TokenStream tokens_;
    Scopes scopes_;
    // Each of these uses objects before it.
    Declarations declarations_{tokens_, scopes_, module_};
    Registers registers_{tokens_, scopes_, declarations_};
    InsertedCode code_{tokens_, module_};
    Parameters parameters_{tokens_, scopes_, declarations_, registers_};
    Calls calls_{tokens_, scopes_, module_, parameters_, code_};
    FunctionBody body_{tokens_, scopes_, module_, declarations_, registers_, code_, calls_};
    Functions functions_{tokens_, scopes_, module_, parameters_, calls_, body_};
    Aliases aliases_{tokens_, scopes_, module_};
};

Module Parser::run() {
    header();
    while (tokens_.peek().kind != Token::Kind::end) module_statement();
    aliases_.resolve();
    calls_.place_open_formals();
    return std::move(module_);
}

void Parser::header() {
    if (!tokens_.at_directive(".version"))
        tokens_.fail(tokens_.peek(),
                     "expected .version at the start of the module, got " + quoted(tokens_.peek()));
    version();
    if (!tokens_.at_directive(".target"))
        tokens_.fail(tokens_.peek(),
                     "expected .target after .version, got " + quoted(tokens_.peek()));
    target();
    if (tokens_.at_directive(".address_size")) {
        tokens_.take();
        const std::uint64_t bits = constant_unsigned(tokens_, "an address size");
        if (bits != 64)
            tokens_.fail(tokens_.peek(),
                         ".address_size " + std::to_string(bits) + " is not supported; expected 64",
                         Error::Kind::unsupported_form);
    }
}

// The lexer reads "9.0" as a floating-point number, so the version is read from the text.
void Parser::version() {
    tokens_.take();
    const Token& token = tokens_.take();
    const std::string_view text = token.text;
    const std::size_t dot = text.find('.');
    if (token.kind != Token::Kind::real || dot == std::string_view::npos || dot > 2 ||
        text.size() != dot + 2)
        tokens_.fail(token, "expected a version such as 9.0, got " + quoted(token));
    int major = 0;
    for (const char c : text.substr(0, dot)) {
        if (c < '0' || c > '9')
            tokens_.fail(token, "expected a version such as 9.0, got " + quoted(token));
        major = major * 10 + (c - '0');
    }
    if (text[dot + 1] < '0' || text[dot + 1] > '9')
        tokens_.fail(token, "expected a version such as 9.0, got " + quoted(token));
    module_.version = major * 10 + (text[dot + 1] - '0');
    if (major < 1 || major > 9)
        tokens_.fail(token,
                     "PTX version " + std::string(text) + " is not supported; expected 1.0 to 9.9",
                     Error::Kind::unsupported_version);
}

void Parser::target() {
    tokens_.take();
    std::string_view mode;
    do {
        const Token& token = tokens_.peek();
        const std::string_view word = tokens_.expect_word("a target such as sm_75");
        if (word.substr(0, 7) == "texmode") {
            if (word != "texmode_unified" && word != "texmode_independent")
                tokens_.fail(token, "unknown texturing mode " + quoted(token) +
                                        "; expected texmode_unified or texmode_independent");
            if (!mode.empty() && mode != word)
                tokens_.fail(
                    token, std::string(mode) + " and " + std::string(word) + " exclude each other");
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
        module_.target = target_named(word);
        if (module_.target.number == 0)
            tokens_.fail(token,
                         "unknown target " + quoted(token) + "; expected a target such as sm_75");
    } while (tokens_.accept(','));
    if (module_.target.number == 0)
        tokens_.fail(tokens_.peek(),
                     "expected a target such as sm_75, got " + quoted(tokens_.peek()));
    if (module_.no_doubles && module_.target.number >= 13)
        tokens_.fail(tokens_.peek(),
                     "map_f64_to_f32 is for targets below sm_13, which have no .f64");
    module_.independent_samplers = mode == "texmode_independent";
}

void Parser::module_statement() {
    if (tokens_.skip_debug() || tokens_.accept(';')) return;
    Prefix prefix;
    prefix.line = tokens_.peek().line;
    prefix.external = tokens_.at_directive(".extern");
    prefix.common = tokens_.at_directive(".common");
    prefix.visible =
        prefix.common || tokens_.at_directive(".visible") || tokens_.at_directive(".weak");
    if (prefix.external || prefix.visible) tokens_.take();
    const Token& token = tokens_.take();
    if (token.kind != Token::Kind::directive)
        tokens_.fail(token, "expected a directive, got " + quoted(token));
    if (prefix.common && token.text != ".global")
        tokens_.fail(token, ".common applies only to .global variables, not to " + quoted(token));
    if (token.text == ".entry") return functions_.read(prefix, true);
    if (token.text == ".func") return functions_.read(prefix, false);
    if (token.text == ".alias") return aliases_.read();
    if (token.text == ".global") return declarations_.module_variable(prefix, Space::global);
    if (token.text == ".const") return declarations_.module_variable(prefix, Space::constant);
    if (token.text == ".shared") return declarations_.module_variable(prefix, Space::shared);
    tokens_.fail(token, "directive " + std::string(token.text) + " is not supported",
                 Error::Kind::unsupported_form);
}

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

}  // namespace cupola::ptx
