// csrc/ptx/requirement.cpp - finds the statement of a text that needs the newest version of PTX.
//
// The text is read by tokens, so it need not be complete: a compiler's object has calls to other
// sources. A version that is too high only excludes older drivers; one that is too low makes a text
// that no driver takes. Where several forms may be meant, the newest one counts.
#include "ptx/requirement.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

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
    const bool digits = text.find_first_not_of("0123456789.") == std::string_view::npos;
    if (token.kind != Token::Kind::real || !digits || text.size() > 4 ||
        text.find('.') + 2 != text.size())
        throw Error(Error::Kind::invalid, token.line, "", "expected a version such as 9.0");
    unsigned version = 0;
    for (const char c : text)
        if (c != '.') version = version * 10 + static_cast<unsigned>(c - '0');
    return version;
}

class Reader {
  public:
    explicit Reader(std::string_view text) : tokens_(lex(text)) {}

    Requirements run() {
        if (tokens_.size() < 4 || tokens_[0].text != ".version" || tokens_[2].text != ".target")
            throw Error(Error::Kind::invalid, tokens_[0].line, "",
                        "expected .version and .target at the start of the module");
        written_ = version_of(tokens_[1]);
        found_.version = tokens_[1].text;
        found_.of_target.written = written_;
        open("", {});
        note_registers();
        while (at_ < tokens_.size() && peek().kind != Token::Kind::end) statement();
        if (part_) close();  // a function without an end
        return std::move(found_);
    }

  private:
    const Token& peek() const { return tokens_[at_]; }
    // The next token; a word with its modifiers, which blanks may separate from it.
    Token take_spaced() {
        const Token& token = tokens_[at_++];
        return token.kind == Token::Kind::word ? spaced_.whole(token, tokens_, at_) : token;
    }
    bool at_mark(std::size_t at, char c) const {
        return at < tokens_.size() && tokens_[at].kind == Token::Kind::mark &&
               tokens_[at].mark == c;
    }

    Requirements::Part& part() { return found_.parts[part_]; }

    // Begins a part, to which the next statements belong.
    void open(std::string_view name, std::string_view text) {
        part_ = found_.parts.size();
        found_.parts.push_back({name, text, {}, {}, false});
        part().requirement.written = written_;
        part().requirement.function = std::string(name);
    }
    // Ends a function with the last token that was read.
    void close() {
        const std::string_view last = tokens_[at_ - 1].text;
        const char* const begin = part().text.data();
        part().text = {begin, static_cast<std::size_t>(last.data() + last.size() - begin)};
        part_ = 0;
    }

    static void need(Requirement& out, unsigned version, const Token& token,
                     const std::string& what) {
        if (!out.known || version <= out.version) return;
        out.version = version;
        out.line = token.line;
        out.what = what;
    }
    void need(unsigned version, const Token& token, const std::string& what) {
        need(part().requirement, version, token, what);
    }
    static void unknown(Requirement& out, const Token& token, const std::string& what) {
        if (!out.known) return;
        out.version = out.written;
        out.known = false;
        out.line = token.line;
        out.what = what;
    }
    void unknown(const Token& token, const std::string& what) {
        unknown(part().requirement, token, what);
    }
    // Notes a word that PTX has since `version`; 0: an unknown word.
    static void note(Requirement& out, unsigned version, const Token& token,
                     const std::string& what) {
        if (version)
            need(out, version, token, what);
        else
            unknown(out, token, what);
    }
    void note(unsigned version, const Token& token, const std::string& what) {
        note(part().requirement, version, token, what);
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
        if (token.kind == Token::Kind::word && part_) return instruction();
        if (token.kind == Token::Kind::word) part().words.push_back(token.text);
        if (at_mark(at_, '{')) ++depth_;
        const bool closes = at_mark(at_, '}') && depth_ && --depth_ == 0;
        ++at_;
        if (closes && part_) close();
    }

    void skip_to_line_end() {
        const std::uint32_t line = peek().line;
        while (peek().kind != Token::Kind::end && peek().line == line) ++at_;
    }

    void directive() {
        const Token& token = peek();
        const std::string_view name = token.text;
        if (name == ".entry" || name == ".func") return heading();
        const bool linkage =
            name == ".visible" || name == ".extern" || name == ".weak" || name == ".common";
        if (!linkage) linkage_ = nullptr;
        if (linkage && !linkage_) linkage_ = name.data();
        if (name == ".pragma") return pragma();
        note(since(directives_since, name), token, std::string(name));
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
        } else if (is_declaration(name)) {
            declaration();
        } else {
            ++at_;
        }
    }

    void pragma() {
        const std::size_t begin = at_;
        Requirement needed;
        needed.written = written_;
        needed.function = std::string(part().name);
        for (; peek().kind != Token::Kind::end && !at_mark(at_, ';'); ++at_) {
            if (peek().kind != Token::Kind::string) continue;
            const std::string_view quoted = peek().text;
            const std::string_view word = quoted.substr(1, quoted.find_first_of(" \"", 1) - 1);
            note(needed, since(pragmas_since, word), peek(), ".pragma " + std::string(quoted));
        }
        const char* const first = tokens_[begin].text.data();
        const std::string_view end = peek().text;
        found_.hints.push_back(
            {{first, static_cast<std::size_t>(end.data() + end.size() - first)}, needed});
    }

    void target() {
        for (++at_; peek().kind == Token::Kind::word || at_mark(at_, ','); ++at_) {
            found_.debug = found_.debug || peek().text == "debug";
            if (peek().text.substr(0, 3) != "sm_") continue;
            const bool first = found_.target.empty();
            if (first) found_.target = peek().text;
            note(found_.of_target, first ? since(targets_since, peek().text) : 0, peek(),
                 ".target " + std::string(peek().text));
        }
    }

    void location() {
        const Token& token = peek();
        const std::uint32_t line = token.line;
        for (; peek().kind != Token::Kind::end && peek().line == line; ++at_)
            if (peek().text == "inlined_at") need(72, token, ".loc with inlined_at");
    }

    // Reads the head of a function, up to its body, or to the end of its declaration.
    void heading() {
        const Token& token = peek();
        if (depth_)
            throw Error(Error::Kind::invalid, token.line, "",
                        "a function begins inside of a function");
        const char* const begin = linkage_ ? linkage_ : token.text.data();
        open({}, {begin, static_cast<std::size_t>(token.text.data() + token.text.size() - begin)});
        linkage_ = nullptr;
        part().kernel = token.text == ".entry";
        unsigned brackets = 0;
        for (; peek().kind != Token::Kind::end; ++at_) {
            if (at_mark(at_, '(')) ++brackets;
            if (at_mark(at_, ')') && brackets) --brackets;
            if (at_mark(at_, ';')) {
                ++at_;
                return close();
            }
            if (at_mark(at_, '{')) break;
            if (peek().kind == Token::Kind::directive)
                note(since(directives_since, peek().text), peek(), std::string(peek().text));
            if (peek().kind == Token::Kind::word && !brackets && part().name.empty()) {
                part().name = peek().text;
                part().requirement.function = std::string(peek().text);
            }
        }
    }

    // Whether a directive declares variables, registers, prototypes or lists of targets.
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
            if (peek().kind == Token::Kind::word) part().words.push_back(peek().text);
            if (initialised || peek().kind != Token::Kind::directive) continue;
            note(since(directives_since, peek().text), peek(), std::string(peek().text));
        }
    }

    void instruction() {
        const Token opcode = take_spaced();
        std::size_t operands = 0, depth = 0;
        while (peek().kind != Token::Kind::end && !at_mark(at_, ';')) {
            if (operands == 0) operands = 1;
            if (at_mark(at_, ',') && depth == 0) ++operands;
            const std::string_view name = peek().text;  // outlives the text of `token`
            const Token token = take_spaced();
            if (token.kind == Token::Kind::mark &&
                (token.mark == '[' || token.mark == '{' || token.mark == '('))
                ++depth;
            if (token.kind == Token::Kind::mark && depth &&
                (token.mark == ']' || token.mark == '}' || token.mark == ')'))
                --depth;
            if (token.kind == Token::Kind::directive) suffix(token);
            if (token.kind != Token::Kind::word) continue;
            if (token.text[0] == '%')
                special(token);
            else
                part().words.push_back(name);
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
        note(version, token, std::string(name));
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
            if (text.substr(0, row.beginning.size()) == row.beginning && has_word(text, row.word) &&
                (row.with.empty() || has_word(text, row.with)))
                need(row.version, opcode, std::string(text));
    }

    std::vector<Token> tokens_;
    std::size_t at_ = 0;
    SpacedWords spaced_;
    unsigned written_ = 0;
    Requirements found_;
    std::size_t part_ = 0;           // the part of the statement at `at_`
    const char* linkage_ = nullptr;  // the linkage of the function that may follow; else null
    unsigned depth_ = 0;
    std::set<std::string_view> registers_, numbered_;
};

}  // namespace

Requirements requirements(std::string_view text) {
    return Reader(text.substr(0, text.find('\0'))).run();
}

Requirement required_version(std::string_view text) {
    const Requirements all = requirements(text);
    const Requirement* found = &all.of_target;
    // An unknown statement goes first, then the newest version; of equal versions, the first line.
    const auto order = [](const Requirement& one) {
        return std::tuple(one.known, one.known ? -static_cast<int>(one.version) : 0, one.line);
    };
    for (const Requirements::Part& part : all.parts)
        if (order(part.requirement) < order(*found)) found = &part.requirement;
    for (const Requirements::Hint& hint : all.hints)
        if (order(hint.requirement) < order(*found)) found = &hint.requirement;
    return *found;
}

unsigned first_version_of_target(std::string_view target) { return since(targets_since, target); }

}  // namespace cupola::ptx
