// csrc/ptx/requirement.cpp - finds the statement of a text that needs the newest version of PTX.
//
// The text is read by tokens, so it need not be complete: a compiler's object has calls to other
// sources. A version that is too high only excludes older drivers; one that is too low makes a text
// that no driver takes. Where several forms may be meant, the newest one counts.
#include "ptx/requirement.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "ptx/error.hpp"
#include "ptx/lexer.hpp"
#include "ptx/match.hpp"
#include "ptx/requirement_table.hpp"

namespace cupola::ptx {
namespace {

template <std::size_t N>
unsigned since(const Since (&table)[N], std::string_view name) {
    for (const Since& row : table)
        if (row.name == name) return row.version;
    return 0;
}

std::string_view before_dot(std::string_view text) { return text.substr(0, text.find('.')); }

unsigned version_of(const Token& token) {
    const std::string_view text = token.text;
    if (token.kind != Token::Kind::real || text.size() != 3 || text[1] != '.')
        throw Error(Error::Kind::invalid, token.line, "", "expected a version such as 9.0");
    return static_cast<unsigned>((text[0] - '0') * 10 + (text[2] - '0'));
}

class Reader {
  public:
    explicit Reader(std::string_view text) : tokens_(lex(text)) {}

    Requirement run() {
        if (tokens_.size() < 4 || tokens_[0].text != ".version" || tokens_[2].text != ".target")
            throw Error(Error::Kind::invalid, tokens_[0].line, "",
                        "expected .version and .target at the start of the module");
        found_.written = version_of(tokens_[1]);
        note_registers();
        while (at_ < tokens_.size() && peek().kind != Token::Kind::end && found_.known) statement();
        return found_;
    }

  private:
    const Token& peek() const { return tokens_[at_]; }
    bool at_mark(std::size_t at, char c) const {
        return at < tokens_.size() && tokens_[at].kind == Token::Kind::mark &&
               tokens_[at].mark == c;
    }

    void need(unsigned version, const Token& token, std::string what) {
        if (!found_.known || version <= found_.version) return;
        found_.version = version;
        found_.line = token.line;
        found_.what = std::move(what);
        found_.function = function_;
    }
    void unknown(const Token& token, std::string what) {
        if (!found_.known) return;
        found_.version = found_.written;
        found_.known = false;
        found_.line = token.line;
        found_.what = std::move(what);
        found_.function = function_;
    }

    // The names after .reg. All of the text's are in one list: a name that is declared anywhere is
    // no special register.
    void note_registers() {
        for (std::size_t i = 0; i < tokens_.size(); ++i) {
            if (tokens_[i].text != ".reg") continue;
            for (; i < tokens_.size() && !at_mark(i, ';') && !at_mark(i, ')'); ++i)
                if (tokens_[i].kind == Token::Kind::word)
                    (at_mark(i + 1, '<') ? numbered_ : registers_).insert(tokens_[i].text);
        }
    }
    bool is_register(std::string_view name) const {
        if (registers_.count(name)) return true;
        const std::size_t last = name.find_last_not_of("0123456789");
        return numbered_.count(name.substr(0, last + 1)) != 0;
    }

    // One directive, label, guard or instruction. Braces and commas are passed over.
    void statement() {
        const Token& token = peek();
        if (token.kind == Token::Kind::directive) return directive();
        if (at_mark(at_, '@')) {
            if (at_mark(at_ + 1, '@')) return skip_to_line_end();  // @@dwarf
            at_ += at_mark(at_ + 1, '!') ? 3 : 2;
            return;
        }
        if (token.kind == Token::Kind::word && at_mark(at_ + 1, ':')) {
            at_ += 2;
            return;
        }
        if (token.kind == Token::Kind::word && in_body_) return instruction();
        if (at_mark(at_, '{')) ++depth_;
        if (at_mark(at_, '}') && depth_ && --depth_ == 0) {
            in_body_ = false;
            function_.clear();
        }
        ++at_;
    }

    void skip_to_line_end() {
        const std::uint32_t line = peek().line;
        while (peek().kind != Token::Kind::end && peek().line == line) ++at_;
    }

    void directive() {
        const Token& token = peek();
        const std::string_view name = token.text;
        if (name == ".pragma") return pragma();
        const unsigned version = since(directives_since, name);
        if (!version) unknown(token, std::string(name));
        need(version, token, std::string(name));
        if (name == ".version") {
            at_ += 2;
        } else if (name == ".target") {
            target();
        } else if (name == ".file") {
            skip_to_line_end();
        } else if (name == ".loc") {
            location();
        } else if (name == ".section") {
            while (peek().kind != Token::Kind::end && !at_mark(at_, '}')) ++at_;
            ++at_;
        } else if (name == ".entry" || name == ".func") {
            heading();
        } else if (is_declaration(name)) {
            declaration();
        } else {
            ++at_;
        }
    }

    void pragma() {
        for (; peek().kind != Token::Kind::end && !at_mark(at_, ';'); ++at_) {
            if (peek().kind != Token::Kind::string) continue;
            const std::string_view quoted = peek().text;
            const std::string_view word = quoted.substr(1, quoted.find_first_of(" \"", 1) - 1);
            const unsigned version = since(pragmas_since, word);
            if (!version) unknown(peek(), ".pragma " + std::string(quoted));
            need(version, peek(), ".pragma " + std::string(quoted));
        }
    }

    void target() {
        for (++at_; peek().kind == Token::Kind::word || at_mark(at_, ','); ++at_) {
            if (peek().text.substr(0, 3) != "sm_") continue;
            const std::string what = ".target " + std::string(peek().text);
            const unsigned version = since(targets_since, peek().text);
            if (!version) unknown(peek(), what);
            need(version, peek(), what);
        }
    }

    void location() {
        const Token& token = peek();
        const std::uint32_t line = token.line;
        for (; peek().kind != Token::Kind::end && peek().line == line; ++at_)
            if (peek().text == "inlined_at") need(72, token, ".loc with inlined_at");
    }

    // Up to the body, or to the ';' of a declaration.
    void heading() {
        bool named = false;
        unsigned brackets = 0;
        for (++at_; peek().kind != Token::Kind::end; ++at_) {
            if (at_mark(at_, '(')) ++brackets;
            if (at_mark(at_, ')') && brackets) --brackets;
            if (at_mark(at_, ';')) return;
            if (at_mark(at_, '{')) break;
            if (peek().kind == Token::Kind::directive) {
                const unsigned version = since(directives_since, peek().text);
                if (!version) unknown(peek(), std::string(peek().text));
                need(version, peek(), std::string(peek().text));
            }
            if (peek().kind == Token::Kind::word && !brackets && !named) {
                function_ = std::string(peek().text);
                named = true;
            }
        }
        in_body_ = true;
    }

    // Of variables, registers, prototypes, and lists of targets.
    static bool is_declaration(std::string_view name) {
        return name == ".global" || name == ".const" || name == ".shared" || name == ".local" ||
               name == ".param" || name == ".reg" || name == ".callprototype" ||
               name == ".calltargets" || name == ".branchtargets";
    }

    // A declaration, with its initialiser. mask() in an initialiser is `0xff(name)`.
    void declaration() {
        bool initialised = false;
        for (; peek().kind != Token::Kind::end && !at_mark(at_, ';'); ++at_) {
            initialised = initialised || at_mark(at_, '=');
            if (initialised && peek().kind == Token::Kind::integer && at_mark(at_ + 1, '('))
                need(71, peek(), "a mask in an initialiser");
            if (initialised || peek().kind != Token::Kind::directive) continue;
            const unsigned version = since(directives_since, peek().text);
            if (!version) unknown(peek(), std::string(peek().text));
            need(version, peek(), std::string(peek().text));
        }
    }

    void instruction() {
        const Token& opcode = peek();
        std::size_t operands = 0, depth = 0;
        for (++at_; peek().kind != Token::Kind::end && !at_mark(at_, ';'); ++at_) {
            if (operands == 0) operands = 1;
            const Token& token = peek();
            if (token.kind == Token::Kind::mark &&
                (token.mark == '[' || token.mark == '{' || token.mark == '('))
                ++depth;
            if (token.kind == Token::Kind::mark && depth &&
                (token.mark == ']' || token.mark == '}' || token.mark == ')'))
                --depth;
            if (at_mark(at_, ',') && depth == 0) ++operands;
            if (token.kind == Token::Kind::directive) suffix(token);
            if (token.kind == Token::Kind::word && token.text[0] == '%') special(token);
        }
        form(opcode, operands);
        modifiers(opcode);
    }

    // Of an address: ld.global.u32 %r1, [%rd1].unified;
    void suffix(const Token& token) {
        if (token.text == ".unified")
            need(80, token, ".unified of an address");
        else
            unknown(token, std::string(token.text));
    }

    void special(const Token& token) {
        const std::string_view name = before_dot(token.text);
        if (is_register(name)) return;
        unsigned version = since(specials_since, name);
        if (name.substr(0, 7) == "%envreg") version = 21;
        if (name.substr(0, 3) == "%pm") version = name.size() > 4 ? 40 : 30;
        if (!version) unknown(token, std::string(name));
        need(version, token, std::string(name));
    }

    void form(const Token& opcode, std::size_t operands) {
        const std::vector<Candidate> all = match(opcode.text);
        unsigned exact = 0, any = 0;
        for (const Candidate& each : all) {
            const Form& row = each.form.form();
            std::size_t count = 0;
            for (unsigned i = 0; i < row.operands.count; ++i) {
                const OperandConstraint one = row.operands.list[i];
                count += one != OperandConstraint::cc_in && one != OperandConstraint::cc_out;
            }
            any = std::max<unsigned>(any, row.since);
            if (count == operands) exact = std::max<unsigned>(exact, row.since);
        }
        if (all.empty()) unknown(opcode, std::string(opcode.text));
        need(exact ? exact : any, opcode, std::string(opcode.text));
    }

    void modifiers(const Token& opcode) {
        const std::string_view text = opcode.text;
        for (const ModifierSince& row : modifiers_since)
            if (text.substr(0, row.beginning.size()) == row.beginning && has(text, row.word) &&
                (row.with.empty() || has(text, row.with)))
                need(row.version, opcode, std::string(text));
    }
    // Whether an opcode has a modifier, as a whole part between dots.
    static bool has(std::string_view opcode, std::string_view modifier) {
        for (std::size_t at = 0; (at = opcode.find(modifier, at)) != std::string_view::npos; ++at) {
            const std::size_t end = at + modifier.size();
            if (at && opcode[at - 1] == '.' && (end == opcode.size() || opcode[end] == '.'))
                return true;
        }
        return false;
    }

    std::vector<Token> tokens_;
    std::size_t at_ = 0;
    Requirement found_;
    std::string function_;
    unsigned depth_ = 0;
    bool in_body_ = false;
    std::set<std::string_view> registers_, numbered_;
};

}  // namespace

Requirement required_version(std::string_view text) {
    return Reader(text.substr(0, text.find('\0'))).run();
}

}  // namespace cupola::ptx
