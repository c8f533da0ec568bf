// csrc/ptx/link_unit.hpp - one text of a link: its statements at module level, and their names.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ptx/error.hpp"
#include "ptx/lexer.hpp"
#include "ptx/link_sections.hpp"

namespace cupola::ptx {

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

// The statements of one text. The text must stay valid.
class Unit {
  public:
    explicit Unit(std::string_view source);

    std::string_view version, target;
    int version_number = 0, target_number = 0;
    bool independent_samplers = false, debug = false;
    std::vector<Statement> statements;
    std::vector<DebugSection> sections;
    std::vector<std::pair<std::uint64_t, std::string_view>>
        files;  // .file statements: number, other tokens

    const std::vector<Token>& tokens() const { return tokens_; }

    [[noreturn]] void fail(std::size_t at, const std::string& message,
                           Error::Kind kind = Error::Kind::invalid) const;

    // Writes the tokens' text with some words and file numbers renamed.
    void write(std::string& out, std::size_t begin, std::size_t end, const Renamed& renamed) const;
    // The number of occurrences of a word.
    std::size_t count(std::string_view word) const;
    std::string_view kind(const Statement& s) const;
    // The labels that sections and .loc directives name: `$L__func_begin0`, `$L__info_string0`.
    std::set<std::string_view> debug_labels() const;
    void collect_words(std::set<std::string_view>& words) const;

  private:
    bool is(std::size_t at, std::string_view directive) const;
    bool mark(std::size_t at, char c) const;
    // Whether the number of a file follows: .loc 1 12 3, function_name $L__info_string0,
    // inlined_at 2 5 1.
    bool names_file(std::size_t at) const;
    bool ended(std::size_t at) const { return tokens_[at].kind == Token::Kind::end; }
    std::size_t need(std::size_t at) const;

    static int digits(std::string_view text);
    std::size_t behind_braces(std::size_t at) const;

    void header();
    void statement();
    void file(std::size_t begin, std::size_t end);
    void function(Statement& s);
    // Also accepts statements that are not variables; the parser reports them.
    void variable(Statement& s);
    // The class (integer or float) and size of each parameter. NVIDIA's linker ignores signs,
    // names, alignments and whether a parameter is in a register.
    std::string signature(std::size_t from, std::size_t to) const;
    std::uint64_t bytes(std::size_t from, std::size_t to) const;

    std::string_view source_;
    std::vector<Token> tokens_;
    std::size_t at_ = 0;
};

}  // namespace cupola::ptx
