// csrc/ptx/link.cpp - joins PTX texts statement by statement. Text is untrusted.
#include "ptx/link.hpp"

#include <map>
#include <set>

#include "ptx/error.hpp"
#include "ptx/lexer.hpp"

namespace cupola::ptx {
namespace {

enum class Linkage { own, visible, weak, external };

// A declaration or definition of the module's level.
struct Statement {
    std::size_t begin, end;  // tokens
    std::size_t kind;        // the token after the linkage: .func, .global, ...
    std::size_t head_end;    // the token that ends what a declaration needs: '{', '=' or ';'
    Linkage linkage = Linkage::own;
    bool entry = false, defines = false;
    std::vector<std::string_view> names;
};

class Unit {
  public:
    explicit Unit(std::string_view source) : source_(source), tokens_(lex(source)) {
        header();
        while (tokens_[at_].kind != Token::Kind::end) statement();
    }

    std::string_view version, target;
    int version_number = 0, target_number = 0;
    bool independent_samplers = false;
    std::vector<Statement> statements;

    [[noreturn]] void fail(std::size_t at, const std::string& message) const {
        const std::uint32_t line = tokens_[at].line;
        throw Error(Error::Kind::invalid, line, std::string(line_text(source_, line)), message);
    }

    // The tokens' text, with other names for some words.
    void write(std::string& out, std::size_t begin, std::size_t end,
               const std::map<std::string_view, std::string>& renamed) const {
        const char* from = tokens_[begin].text.data();
        for (std::size_t i = begin; i < end; ++i) {
            if (tokens_[i].kind != Token::Kind::word) continue;
            const auto other = renamed.find(tokens_[i].text);
            if (other == renamed.end()) continue;
            out.append(from, tokens_[i].text.data());
            out += other->second;
            from = tokens_[i].text.data() + tokens_[i].text.size();
        }
        const std::string_view last = tokens_[end - 1].text;
        out.append(from, last.data() + last.size());
    }

    void collect_words(std::set<std::string_view>& words) const {
        for (const Token& token : tokens_)
            if (token.kind == Token::Kind::word) words.insert(token.text);
    }

  private:
    bool is(std::size_t at, std::string_view directive) const {
        return tokens_[at].kind == Token::Kind::directive && tokens_[at].text == directive;
    }
    bool mark(std::size_t at, char c) const {
        return tokens_[at].kind == Token::Kind::mark && tokens_[at].mark == c;
    }
    bool ended(std::size_t at) const { return tokens_[at].kind == Token::Kind::end; }
    std::size_t need(std::size_t at) const {
        if (ended(at)) fail(at, "the text ends within a statement");
        return at;
    }

    static int digits(std::string_view text) {
        int number = 0;
        for (const char c : text)
            if (c >= '0' && c <= '9' && number < 100000) number = number * 10 + (c - '0');
        return number;
    }

    void header() {
        if (!is(0, ".version")) fail(0, "a module starts with .version");
        if (tokens_[1].kind != Token::Kind::real) fail(1, "a version such as 9.0 is missing");
        version = tokens_[1].text;
        version_number = digits(version);
        if (!is(2, ".target")) fail(2, ".target is missing");
        if (tokens_[3].kind != Token::Kind::word) fail(3, "a target such as sm_75 is missing");
        target = tokens_[3].text;
        target_number = digits(target);
        for (at_ = 4; mark(at_, ','); at_ += 2)
            independent_samplers |= tokens_[need(at_ + 1)].text == "texmode_independent";
        if (is(at_, ".address_size")) at_ = need(at_ + 1) + 1;
    }

    std::size_t behind_braces(std::size_t at) const {
        std::size_t depth = 0;
        do {
            need(at);
            if (mark(at, '{')) ++depth;
            if (mark(at, '}')) --depth;
            ++at;
        } while (depth != 0);
        return at;
    }

    void statement() {
        const std::size_t first = at_;
        if (mark(at_, ';')) {
            ++at_;
            return;
        }
        if (is(at_, ".file") || is(at_, ".loc")) {  // files are numbered by each text for itself
            while (!ended(at_) && tokens_[at_].line == tokens_[first].line) ++at_;
            return;
        }
        if (is(at_, ".section")) {
            at_ = behind_braces(need(at_ + 1) + 1);  // behind its name
            return;
        }
        Statement s{};
        s.begin = first;
        for (;; ++at_) {
            if (is(at_, ".visible")) {
                s.linkage = Linkage::visible;
            } else if (is(at_, ".weak") || is(at_, ".common")) {
                s.linkage = Linkage::weak;
            } else if (is(at_, ".extern")) {
                s.linkage = Linkage::external;
            } else {
                break;
            }
        }
        s.kind = need(at_);
        s.entry = is(at_, ".entry");
        if (s.entry && s.linkage == Linkage::own) s.linkage = Linkage::visible;
        if (s.entry || is(at_, ".func"))
            function(s);
        else
            variable(s);
        s.end = at_;
        statements.push_back(std::move(s));
    }

    void function(Statement& s) {
        std::size_t depth = 0;
        for (++at_; depth != 0 || !(mark(at_, '{') || mark(at_, ';')); ++at_) {
            need(at_);
            if (mark(at_, '(')) ++depth;
            if (mark(at_, ')') && depth != 0) --depth;
            if (depth == 0 && s.names.empty() && tokens_[at_].kind == Token::Kind::word)
                s.names.push_back(tokens_[at_].text);
        }
        s.head_end = at_;
        s.defines = mark(at_, '{');
        at_ = s.defines ? behind_braces(at_) : at_ + 1;
    }

    // Also what is no variable and is nobody's here: the parser has its opinion of that.
    void variable(Statement& s) {
        bool named = false;
        s.defines = s.linkage != Linkage::external;
        for (++at_; !mark(at_, ';');) {
            need(at_);
            if (mark(at_, '=') && s.head_end == 0) s.head_end = at_;
            if (mark(at_, ',')) named = false;
            if (!named && tokens_[at_].kind == Token::Kind::word) {
                s.names.push_back(tokens_[at_].text);
                named = true;
            }
            if (mark(at_, '(')) {  // of .attribute
                while (!mark(need(at_), ')')) ++at_;
            }
            at_ = mark(at_, '{') ? behind_braces(at_) : at_ + 1;
        }
        if (s.head_end == 0) s.head_end = at_;
        ++at_;
    }

    std::string_view source_;
    std::vector<Token> tokens_;
    std::size_t at_ = 0;
};

}  // namespace

std::string link(const std::vector<std::string_view>& inputs) {
    std::vector<Unit> units;
    units.reserve(inputs.size());
    for (const std::string_view input : inputs) units.emplace_back(input);

    // Which unit's definition stands: the one that is not weak, else the first.
    struct Chosen {
        const Unit* unit;
        bool weak;
    };
    std::map<std::string_view, Chosen> defined;
    std::set<std::string_view> taken;  // what several declare, or one declared for itself
    std::set<std::string_view> words;
    const Unit* newest = nullptr;
    const Unit* highest = nullptr;
    bool independent_samplers = false;
    for (const Unit& unit : units) {
        independent_samplers |= unit.independent_samplers;
        if (!newest || unit.version_number > newest->version_number) newest = &unit;
        if (!highest || unit.target_number > highest->target_number) highest = &unit;
        unit.collect_words(words);
        for (const Statement& s : unit.statements) {
            if (s.linkage != Linkage::own) taken.insert(s.names.begin(), s.names.end());
            if (!s.defines || s.linkage == Linkage::own || s.linkage == Linkage::external) continue;
            const bool weak = s.linkage == Linkage::weak;
            for (const std::string_view name : s.names) {
                const auto [at, fresh] = defined.emplace(name, Chosen{&unit, weak});
                if (fresh) continue;
                if (!weak && !at->second.weak)
                    unit.fail(s.kind, "'" + std::string(name) + "' is defined more than once");
                if (!weak) at->second = {&unit, false};
            }
        }
    }
    if (units.empty()) throw Error(Error::Kind::invalid, 1, "", "there is nothing to link");

    std::string out =
        ".version " + std::string(newest->version) + "\n.target " + std::string(highest->target) +
        (independent_samplers ? ", texmode_independent" : "") + "\n.address_size 64\n";
    std::size_t number = 0;
    for (const Unit& unit : units) {
        ++number;
        std::set<std::string_view> own, shared;
        for (const Statement& s : unit.statements)
            (s.linkage == Linkage::own ? own : shared).insert(s.names.begin(), s.names.end());
        std::map<std::string_view, std::string> renamed;
        for (const std::string_view name : own) {
            // A function that is declared first may get its linkage only later.
            if (shared.count(name) || taken.insert(name).second) continue;
            std::string other = std::string(name) + "$" + std::to_string(number);
            while (words.count(other)) other += "_";
            renamed.emplace(name, std::move(other));
        }
        for (const Statement& s : unit.statements) {
            bool other = false;
            if (s.defines && s.linkage == Linkage::weak)
                for (const std::string_view name : s.names) other |= defined.at(name).unit != &unit;
            out += '\n';
            if (!other) {
                unit.write(out, s.begin, s.end, renamed);
            } else if (!s.entry) {
                out += ".extern ";
                unit.write(out, s.kind, s.head_end, renamed);
                out += ';';
            }
        }
        out += '\n';
    }
    return out;
}

}  // namespace cupola::ptx
