// csrc/ptx/link.cpp - joins PTX texts statement by statement. Text is untrusted.
#include "ptx/link.hpp"

#include <algorithm>
#include <list>
#include <map>
#include <set>

#include "ptx/error.hpp"
#include "ptx/lexer.hpp"
#include "ptx/link_sections.hpp"
#include "ptx/type.hpp"

namespace cupola::ptx {

// Not in an unnamed namespace: Linker::Inputs has members of these types.
enum class Linkage { own, visible, weak, common, external };

// A declaration or definition at module level.
struct Statement {
    std::size_t begin, end;  // indices of tokens
    std::size_t kind;        // the token after the linkage: .func, .global, ...
    std::size_t head_end;    // the token after the declaration: '{', '=' or ';'
    Linkage linkage = Linkage::own;
    bool entry = false, function = false, defines = false, initialised = false;
    std::vector<std::string_view> names;
    std::uint64_t bytes = 0;  // size of one variable; 0 if it has no size
    std::string signature;    // a function's results and parameters, for comparison
};

// The linked text's words for a unit's words and for the numbers of its .file directives.
struct Renamed {
    std::map<std::string_view, std::string> words;
    std::map<std::uint64_t, std::size_t> files;
};

class Unit {
  public:
    explicit Unit(std::string_view source) : source_(source), tokens_(lex(source)) {
        header();
        while (tokens_[at_].kind != Token::Kind::end) statement();
    }

    std::string_view version, target;
    int version_number = 0, target_number = 0;
    bool independent_samplers = false, debug = false;
    std::vector<Statement> statements;
    std::vector<DebugSection> sections;
    std::vector<std::pair<std::uint64_t, std::string_view>> files;  // of .file: number, the rest

    const std::vector<Token>& tokens() const { return tokens_; }

    [[noreturn]] void fail(std::size_t at, const std::string& message,
                           Error::Kind kind = Error::Kind::invalid) const {
        const std::uint32_t line = tokens_[at].line;
        throw Error(kind, line, std::string(line_text(source_, line)), message);
    }

    // Writes the tokens' text with some words and file numbers renamed.
    void write(std::string& out, std::size_t begin, std::size_t end, const Renamed& renamed) const {
        const char* from = tokens_[begin].text.data();
        const auto replace = [&](const Token& token, const std::string& other) {
            out.append(from, token.text.data());
            out += other;
            from = token.text.data() + token.text.size();
        };
        for (std::size_t i = begin; i < end; ++i) {
            const Token& token = tokens_[i];
            if (token.kind == Token::Kind::word) {
                const auto other = renamed.words.find(token.text);
                if (other != renamed.words.end()) replace(token, other->second);
            } else if (token.kind == Token::Kind::integer && i != begin && names_file(i - 1)) {
                // No .file has the number 0, so a number without a .file names no other file.
                const auto other = renamed.files.find(token.value);
                replace(token, std::to_string(other == renamed.files.end() ? 0 : other->second));
            }
        }
        const std::string_view last = tokens_[end - 1].text;
        out.append(from, last.data() + last.size());
    }

    // The number of occurrences of a word.
    std::size_t count(std::string_view word) const {
        std::size_t found = 0;
        for (const Token& token : tokens_)
            found += token.kind == Token::Kind::word && token.text == word;
        return found;
    }

    std::string_view kind(const Statement& s) const {
        return s.entry ? ".entry" : tokens_[s.kind].text;
    }

    // The labels that sections and .loc directives name: `$L__func_begin0`, `$L__info_string0`.
    std::set<std::string_view> debug_labels() const {
        std::set<std::string_view> named, labels;
        for (const DebugSection& section : sections)
            for (std::size_t i = section.begin; i < section.end; ++i)
                if (tokens_[i].kind == Token::Kind::word) named.insert(tokens_[i].text);
        if (named.empty()) return labels;
        for (std::size_t i = 0; i + 1 < tokens_.size(); ++i)
            if (tokens_[i].kind == Token::Kind::word && mark(i + 1, ':') &&
                named.count(tokens_[i].text))
                labels.insert(tokens_[i].text);
        return labels;
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
    // Whether the number of a file follows: .loc 1 12 3, function_name $L__info_string0,
    // inlined_at 2 5 1.
    bool names_file(std::size_t at) const {
        return is(at, ".loc") ||
               (tokens_[at].kind == Token::Kind::word && tokens_[at].text == "inlined_at");
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
        if (!is(0, ".version")) fail(0, "expected .version at the start of the module");
        if (tokens_[1].kind != Token::Kind::real)
            fail(1, "expected a version such as 9.0 after .version");
        version = tokens_[1].text;
        version_number = digits(version);
        if (!is(2, ".target")) fail(2, "expected .target after .version");
        if (tokens_[3].kind != Token::Kind::word)
            fail(3, "expected a target such as sm_75 after .target");
        target = tokens_[3].text;
        target_number = digits(target);
        for (at_ = 4; mark(at_, ','); at_ += 2) {
            independent_samplers |= tokens_[need(at_ + 1)].text == "texmode_independent";
            debug |= tokens_[at_ + 1].text == "debug";
        }
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
        if (is(at_, ".file") || is(at_, ".loc")) {  // a .loc applies only inside of a function
            while (!ended(at_) && tokens_[at_].line == tokens_[first].line) ++at_;
            if (is(first, ".file")) file(first, at_);
            return;
        }
        if (is(at_, ".section")) {
            const std::size_t name = need(at_ + 1);
            at_ = behind_braces(name + 1);
            if (at_ > name + 2) sections.push_back({tokens_[name].text, name + 2, at_ - 1});
            return;
        }
        Statement s{};
        s.begin = first;
        for (;; ++at_) {
            if (is(at_, ".visible")) {
                s.linkage = Linkage::visible;
            } else if (is(at_, ".weak")) {
                s.linkage = Linkage::weak;
            } else if (is(at_, ".common")) {
                s.linkage = Linkage::common;
            } else if (is(at_, ".extern")) {
                s.linkage = Linkage::external;
            } else {
                break;
            }
        }
        s.kind = need(at_);
        s.entry = is(at_, ".entry");
        if (s.entry && s.linkage == Linkage::own) s.linkage = Linkage::visible;
        s.function = s.entry || is(at_, ".func");
        if (s.function) {
            function(s);
            s.signature = signature(s.kind, s.head_end);
        } else {
            variable(s);
            if (s.names.size() == 1) s.bytes = bytes(s.kind, s.head_end);
        }
        s.end = at_;
        statements.push_back(std::move(s));
    }

    void file(std::size_t begin, std::size_t end) {
        if (end < begin + 3 || tokens_[begin + 1].kind != Token::Kind::integer) return;
        const char* const from = tokens_[begin + 2].text.data();
        const std::string_view last = tokens_[end - 1].text;
        const auto size = static_cast<std::size_t>(last.data() + last.size() - from);
        files.emplace_back(tokens_[begin + 1].value, std::string_view(from, size));
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

    // The class (integer or float) and size of each parameter. NVIDIA's linker ignores signs,
    // names, alignments and whether a parameter is in a register.
    std::string signature(std::size_t from, std::size_t to) const {
        std::string text;
        for (std::size_t at = from; at < to; ++at) {
            const Token& token = tokens_[at];
            if (token.kind == Token::Kind::mark && token.mark != ',') text += token.mark;
            if (token.kind == Token::Kind::integer && mark(at - 1, '['))
                text += std::to_string(token.value);
            if (token.kind != Token::Kind::directive) continue;
            if (token.text == ".v2" || token.text == ".v4") text += token.text;
            const Type type = type_named(token.text.substr(1));
            if (type == Type::none) continue;
            text += type == Type::pred ? 'p' : is_float(type) ? 'f' : 'i';
            text += std::to_string(8 * bytes_of(type));
        }
        return text;
    }

    std::uint64_t bytes(std::size_t from, std::size_t to) const {
        std::uint64_t size = 0;
        for (std::size_t at = from; at < to; ++at) {
            const Token& token = tokens_[at];
            if (is(at, ".v2") || is(at, ".v4")) size = token.text == ".v2" ? 2 : 4;
            if (token.kind == Token::Kind::directive)
                if (const Type type = type_named(token.text.substr(1)); type != Type::none)
                    size = std::max<std::uint64_t>(size, 1) * bytes_of(type);
            if (!mark(at, '[')) continue;
            if (tokens_[at + 1].kind != Token::Kind::integer) return 0;
            const std::uint64_t bound = tokens_[at + 1].value;
            if (bound != 0 && size > (std::uint64_t{1} << 40) / bound) return 0;
            size *= bound;
        }
        return size;
    }

    // Also accepts statements that are not variables; the parser reports them.
    void variable(Statement& s) {
        bool named = false;
        s.defines = s.linkage != Linkage::external;
        for (++at_; !mark(at_, ';');) {
            need(at_);
            if (mark(at_, '=') && s.head_end == 0) s.head_end = at_;
            s.initialised |= mark(at_, '=');
            if (mark(at_, ',')) named = false;
            if (!named && tokens_[at_].kind == Token::Kind::word) {
                s.names.push_back(tokens_[at_].text);
                named = true;
            }
            if (mark(at_, '(')) {  // the list of .attribute
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

struct Chosen {
    const Unit* unit;
    const Statement* statement;
};

namespace {

unsigned rank(const Statement& s) {
    return s.linkage == Linkage::visible ? 3 : s.linkage == Linkage::weak ? 2 : 1;
}

// Whether a definition replaces the chosen one.
bool stronger(const Unit& unit, const Statement& s, std::string_view name, const Chosen& before) {
    const unsigned mine = rank(s), its = rank(*before.statement);
    const bool strong = mine == 3 && its == 3;
    const bool values = mine == 1 && its == 1 && s.initialised && before.statement->initialised;
    if (strong || values)
        unit.fail(s.kind, "'" + std::string(name) + "' is defined more than once",
                  Error::Kind::duplicate_definition);
    if (mine != its) return mine > its;
    // Among common variables the one with a value wins, otherwise the largest.
    return mine == 1 && !before.statement->initialised &&
           (s.initialised || s.bytes > before.statement->bytes);
}

// Checks a declaration, or a definition that was not chosen, against the chosen definition.
void check_alike(const Unit& unit, const Statement& s, std::string_view name,
                 const Chosen& chosen) {
    const Statement& its = *chosen.statement;
    const std::string what = "'" + std::string(name) + "' ";
    if (s.function != its.function)
        unit.fail(s.kind, what + "is a " + (s.function ? "function" : "variable") +
                              " here, but a " + (its.function ? "function" : "variable") +
                              " where it is defined");
    // NVIDIA's linker ignores a declaration that nothing uses.
    if (!s.defines && unit.count(name) == 1) return;
    if (s.function) {
        if (s.signature != its.signature)
            unit.fail(
                s.kind,
                what +
                    "is declared here with other parameters or results than where it is defined");
        return;
    }
    if (unit.kind(s) != chosen.unit->kind(its))
        unit.fail(s.kind, what + "is in " + std::string(unit.kind(s)) + " here, but in " +
                              std::string(chosen.unit->kind(its)) + " where it is defined");
    const bool common = s.linkage == Linkage::common || its.linkage == Linkage::common;
    if (!common && s.bytes != 0 && its.bytes != 0 && s.bytes != its.bytes)
        unit.fail(s.kind, what + "has " + std::to_string(s.bytes) + " bytes here, but " +
                              std::to_string(its.bytes) + " where it is defined");
}

}  // namespace

struct Linker::Inputs {
    struct Input {
        explicit Input(std::string_view bytes) : text(bytes), unit(text) {}

        const std::string text;
        const Unit unit;  // holds views of the text
    };

    std::list<Input> all;
    std::map<std::string_view, Chosen> defined;  // the chosen definitions
    std::set<std::string_view> shared;           // names that are not local to a text
    std::set<std::string_view> words;
};

Linker::Linker() : inputs_(std::make_unique<Inputs>()) {}
Linker::~Linker() = default;

bool Linker::empty() const { return inputs_->all.empty(); }

void Linker::add(std::string_view text) {
    auto& [all, defined, shared, words] = *inputs_;
    std::list<Inputs::Input> added;
    const Unit& unit = added.emplace_back(text).unit;
    auto chosen = defined;
    for (const Statement& s : unit.statements) {
        if (!s.defines || s.linkage == Linkage::own || s.linkage == Linkage::external) continue;
        for (const std::string_view name : s.names) {
            const auto [at, fresh] = chosen.emplace(name, Chosen{&unit, &s});
            if (!fresh && stronger(unit, s, name, at->second)) at->second = {&unit, &s};
        }
    }
    // Nothing throws Error from here on.
    defined = std::move(chosen);
    for (const Statement& s : unit.statements)
        if (s.linkage != Linkage::own) shared.insert(s.names.begin(), s.names.end());
    unit.collect_words(words);
    all.splice(all.end(), added);
}

std::string Linker::linked() const {
    const auto& [all, defined, shared_names, words] = *inputs_;
    if (all.empty())
        throw Error(Error::Kind::invalid, 1, "", "no PTX text was added to the linker");
    std::set<std::string_view> taken = shared_names;
    const Unit* newest = &all.front().unit;
    const Unit* highest = newest;
    bool independent_samplers = false, debug = false;
    for (const auto& [text, unit] : all) {
        independent_samplers |= unit.independent_samplers;
        debug |= unit.debug;
        if (unit.version_number > newest->version_number) newest = &unit;
        if (unit.target_number > highest->target_number) highest = &unit;
    }

    std::string out = ".version " + std::string(newest->version) + "\n.target " +
                      std::string(highest->target) +
                      (independent_samplers ? ", texmode_independent" : "") +
                      (debug ? ", debug" : "") + "\n.address_size 64\n";
    // Shared symbols are declared first, as in their definitions.
    for (const auto& [name, chosen] : defined) {
        if (chosen.statement->entry || chosen.statement->names.size() != 1) continue;
        out += ".extern ";
        chosen.unit->write(out, chosen.statement->kind, chosen.statement->head_end, {});
        out += ";\n";
    }
    std::map<std::string_view, Chosen> missing;
    std::map<std::string_view, std::size_t> files;  // of the linked text, by the rest of a .file
    LinkedSections sections;
    std::size_t number = 0;
    for (const auto& [text, unit] : all) {
        ++number;
        std::set<std::string_view> own, shared;
        for (const Statement& s : unit.statements)
            (s.linkage == Linkage::own ? own : shared).insert(s.names.begin(), s.names.end());
        own.merge(unit.debug_labels());
        Renamed renamed;
        for (const auto& [file, rest] : unit.files)
            renamed.files.emplace(file, files.emplace(rest, files.size() + 1).first->second);
        for (const std::string_view name : own) {
            // A function may be declared before the statement that gives its linkage.
            if (shared.count(name) || taken.insert(name).second) continue;
            std::string other = std::string(name) + "$" + std::to_string(number);
            while (words.count(other)) other += "_";
            renamed.words.emplace(name, std::move(other));
        }
        for (const Statement& s : unit.statements) {
            const auto found = s.linkage == Linkage::own || s.names.size() != 1
                                   ? defined.end()
                                   : defined.find(s.names[0]);
            if (found != defined.end() && found->second.statement != &s) {
                check_alike(unit, s, found->first, found->second);
                // A kernel's declaration is kept for its address. A definition that was not chosen
                // is dropped.
                if (!s.entry || s.defines) continue;
            } else if (s.function && s.linkage == Linkage::external && s.names.size() == 1) {
                // An undefined symbol, or one that the device provides: one declaration is enough.
                const auto [at, fresh] = missing.emplace(s.names[0], Chosen{&unit, &s});
                if (!fresh) {
                    check_alike(unit, s, at->first, at->second);
                    continue;
                }
            }
            bool other = false;
            for (const std::string_view name : s.names) {
                const auto at = defined.find(name);
                other |= s.defines && at != defined.end() && s.linkage != Linkage::own &&
                         at->second.statement != &s;
            }
            out += '\n';
            if (!other) {
                unit.write(out, s.begin, s.end, renamed);
            } else {
                out += ".extern ";
                unit.write(out, s.kind, s.head_end, renamed);
                out += ';';
            }
        }
        sections.add(unit.tokens(), unit.sections, renamed.words);
        out += '\n';
    }
    for (const auto& [rest, file] : files)
        out += ".file " + std::to_string(file) + " " + std::string(rest) + "\n";
    sections.write(out);
    return out;
}

}  // namespace cupola::ptx
