// csrc/ptx/link_unit.cpp - reads the statements of a text that is linked. Text is untrusted.
#include "ptx/link_unit.hpp"

#include <algorithm>

#include "ptx/type.hpp"

namespace cupola::ptx {

Unit::Unit(std::string_view source) : source_(source), tokens_(lex(source)) {
    header();
    while (tokens_[at_].kind != Token::Kind::end) statement();
}

void Unit::fail(std::size_t at, const std::string& message, Error::Kind kind) const {
    const std::uint32_t line = tokens_[at].line;
    throw Error(kind, line, std::string(line_text(source_, line)), message);
}

void Unit::write(std::string& out, std::size_t begin, std::size_t end,
                 const Renamed& renamed) const {
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

std::size_t Unit::count(std::string_view word) const {
    std::size_t found = 0;
    for (const Token& token : tokens_)
        found += token.kind == Token::Kind::word && token.text == word;
    return found;
}

std::string_view Unit::kind(const Statement& s) const {
    return s.entry ? ".entry" : tokens_[s.kind].text;
}

std::set<std::string_view> Unit::debug_labels() const {
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

void Unit::collect_words(std::set<std::string_view>& words) const {
    for (const Token& token : tokens_)
        if (token.kind == Token::Kind::word) words.insert(token.text);
}

bool Unit::is(std::size_t at, std::string_view directive) const {
    return tokens_[at].kind == Token::Kind::directive && tokens_[at].text == directive;
}

bool Unit::mark(std::size_t at, char c) const {
    return tokens_[at].kind == Token::Kind::mark && tokens_[at].mark == c;
}

bool Unit::names_file(std::size_t at) const {
    return is(at, ".loc") ||
           (tokens_[at].kind == Token::Kind::word && tokens_[at].text == "inlined_at");
}

std::size_t Unit::need(std::size_t at) const {
    if (ended(at)) fail(at, "the text ends within a statement");
    return at;
}

int Unit::digits(std::string_view text) {
    int number = 0;
    for (const char c : text)
        if (c >= '0' && c <= '9' && number < 100000) number = number * 10 + (c - '0');
    return number;
}

void Unit::header() {
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

std::size_t Unit::behind_braces(std::size_t at) const {
    std::size_t depth = 0;
    do {
        need(at);
        if (mark(at, '{')) ++depth;
        if (mark(at, '}')) --depth;
        ++at;
    } while (depth != 0);
    return at;
}

void Unit::statement() {
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

void Unit::file(std::size_t begin, std::size_t end) {
    if (end < begin + 3 || tokens_[begin + 1].kind != Token::Kind::integer) return;
    const char* const from = tokens_[begin + 2].text.data();
    const std::string_view last = tokens_[end - 1].text;
    const auto size = static_cast<std::size_t>(last.data() + last.size() - from);
    files.emplace_back(tokens_[begin + 1].value, std::string_view(from, size));
}

void Unit::function(Statement& s) {
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

std::string Unit::signature(std::size_t from, std::size_t to) const {
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

std::uint64_t Unit::bytes(std::size_t from, std::size_t to) const {
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

void Unit::variable(Statement& s) {
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

}  // namespace cupola::ptx
