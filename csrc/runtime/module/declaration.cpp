// csrc/runtime/module/declaration.cpp - parses a kernel's declared list of C parameters.
//
// Unknown syntax is refused, since arguments are checked against the declaration.
#include "runtime/module/declaration.hpp"

#include <cctype>

namespace cupola {
namespace {

constexpr std::size_t max_text = 1 << 16;
constexpr std::size_t max_parameters = 4096;

using Words = std::vector<std::string_view>;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_identifier(std::string_view token) {
    return is_word(token[0]) && !std::isdigit(static_cast<unsigned char>(token[0]));
}

// Splits into words, "::" and single characters, without comments. False: a comment has no end.
bool split(std::string_view text, Words& tokens) {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = at;
        if (std::isspace(static_cast<unsigned char>(text[at]))) {
            ++at;
        } else if (text.compare(at, 2, "//") == 0) {
            at = std::min(text.find('\n', at), text.size());
        } else if (text.compare(at, 2, "/*") == 0) {
            at = text.find("*/", at + 2);
            if (at == std::string_view::npos) return false;
            at += 2;
        } else {
            at += text.compare(at, 2, "::") == 0 ? 2 : 1;
            if (is_word(text[begin]))
                while (at < text.size() && is_word(text[at])) ++at;
            tokens.push_back(text.substr(begin, at - begin));
        }
    }
    return true;
}

struct Type {
    std::string_view name, spelled;  // in a declaration, and in a kernel's demangled name
    std::uint32_t kind, size, align;
};

constexpr std::uint32_t natural = CUPOLA_INTEGER | CUPOLA_UNSIGNED;
constexpr std::uint32_t integer = CUPOLA_INTEGER | CUPOLA_SIGNED;

constexpr Type types[] = {
    {"bool", "bool", natural, 1, 1},
    {"_Bool", "bool", natural, 1, 1},
    {"float", "float", CUPOLA_FLOAT, 4, 4},
    {"double", "double", CUPOLA_FLOAT, 8, 8},
    {"half", "__half", CUPOLA_FLOAT, 2, 2},
    {"__half", "__half", CUPOLA_FLOAT, 2, 2},
    {"nv_bfloat16", "__nv_bfloat16", CUPOLA_FLOAT | CUPOLA_BFLOAT, 2, 2},
    {"__nv_bfloat16", "__nv_bfloat16", CUPOLA_FLOAT | CUPOLA_BFLOAT, 2, 2},
    {"int8_t", "signed char", integer, 1, 1},
    {"uint8_t", "unsigned char", natural, 1, 1},
    {"int16_t", "short", integer, 2, 2},
    {"uint16_t", "unsigned short", natural, 2, 2},
    {"int32_t", "int", integer, 4, 4},
    {"uint32_t", "unsigned int", natural, 4, 4},
    {"int64_t", "long", integer, 8, 8},
    {"uint64_t", "unsigned long", natural, 8, 8},
    {"size_t", "unsigned long", natural, 8, 8},
    {"ssize_t", "long", integer, 8, 8},
    {"ptrdiff_t", "long", integer, 8, 8},
    {"intptr_t", "long", integer, 8, 8},
    {"uintptr_t", "unsigned long", natural, 8, 8},
    {"uchar", "unsigned char", natural, 1, 1},
    {"ushort", "unsigned short", natural, 2, 2},
    {"uint", "unsigned int", natural, 4, 4},
    {"ulong", "unsigned long", natural, 8, 8},
    {"cudaTextureObject_t", "unsigned long long", natural, 8, 8},
    {"cudaSurfaceObject_t", "unsigned long long", natural, 8, 8},
    {"CUtexObject", "unsigned long long", natural, 8, 8},
    {"CUsurfObject", "unsigned long long", natural, 8, 8},
    {"dim3", "dim3", CUPOLA_STRUCT, 12, 4},
    {"half2", "__half2", CUPOLA_STRUCT, 4, 4},
    {"__half2", "__half2", CUPOLA_STRUCT, 4, 4},
    {"nv_bfloat162", "__nv_bfloat162", CUPOLA_STRUCT, 4, 4},
    {"__nv_bfloat162", "__nv_bfloat162", CUPOLA_STRUCT, 4, 4},
    {"cuComplex", "float2", CUPOLA_STRUCT, 8, 8},
    {"cuFloatComplex", "float2", CUPOLA_STRUCT, 8, 8},
    {"cuDoubleComplex", "double2", CUPOLA_STRUCT, 16, 16},
};

// Vector types such as float4: the name's prefix, and the bytes of an element.
constexpr struct {
    std::string_view name;
    std::uint32_t size;
} vectors[] = {
    {"char", 1}, {"uchar", 1}, {"short", 2},    {"ushort", 2},    {"int", 4},   {"uint", 4},
    {"long", 8}, {"ulong", 8}, {"longlong", 8}, {"ulonglong", 8}, {"float", 4}, {"double", 8},
};

bool find_type(std::string_view name, Type& found) {
    for (const Type& type : types)
        if (type.name == name) {
            found = type;
            return true;
        }
    const char last = name.back();
    if (last < '1' || last > '4') return false;
    const auto count = static_cast<std::uint32_t>(last - '0');
    for (const auto& vector : vectors)
        if (vector.name == name.substr(0, name.size() - 1)) {
            const std::uint32_t align = count == 3 ? vector.size : vector.size * count;
            found = {name, name, CUPOLA_STRUCT, vector.size * count, std::min(align, 16u)};
            return true;
        }
    return false;
}

// The words of an integer type, in any order.
struct IntegerWords {
    int has_sign = 0, is_unsigned = 0, chars = 0, shorts = 0, ints = 0, longs = 0;

    bool take(std::string_view word) {
        int* const count = word == "signed"     ? &has_sign
                           : word == "unsigned" ? &is_unsigned
                           : word == "char"     ? &chars
                           : word == "short"    ? &shorts
                           : word == "int"      ? &ints
                           : word == "long"     ? &longs
                                                : nullptr;
        if (count) ++*count;
        return count != nullptr;
    }
    bool any() const { return has_sign + is_unsigned + chars + shorts + ints + longs > 0; }
    bool read(Type& found) const {
        const bool once = has_sign <= 1 && is_unsigned <= 1 && has_sign + is_unsigned <= 1 &&
                          chars <= 1 && shorts <= 1 && ints <= 1 && longs <= 2;
        const bool one_width = (chars > 0) + (shorts > 0) + (longs > 0) <= 1 && !(chars && ints);
        if (!once || !one_width) return false;
        const std::uint32_t size = chars ? 1 : shorts ? 2 : longs ? 8 : 4;
        constexpr std::string_view names[][2] = {{"char", "unsigned char"},
                                                 {"short", "unsigned short"},
                                                 {"int", "unsigned int"},
                                                 {"long", "unsigned long"},
                                                 {"long long", "unsigned long long"}};
        const int row = chars ? 0 : shorts ? 1 : longs == 0 ? 2 : 2 + longs;
        found = {"", names[row][is_unsigned], is_unsigned ? natural : integer, size, size};
        if (chars && has_sign) found.spelled = "signed char";
        return true;
    }
};

bool is_qualifier(std::string_view word) {
    return word == "const" || word == "volatile" || word == "restrict" || word == "__restrict" ||
           word == "__restrict__" || word == "__grid_constant__";
}

bool is_tag(std::string_view word) {
    return word == "struct" || word == "class" || word == "union" || word == "enum";
}

// Parses one parameter; `read` returns an error text or "".
class Reader {
  public:
    Reader(const std::string_view* begin, const std::string_view* end) : at_(begin), end_(end) {}

    std::string read(Declared& out) {
        std::string wrong = read_type(out);
        if (wrong.empty()) wrong = read_pointers(out);
        if (wrong.empty()) wrong = read_name(out);
        if (!wrong.empty() || pointers_) return wrong;
        if (is_void_) return "a value of type void";
        return "";
    }

  private:
    bool more() const { return at_ != end_; }
    bool next_is(std::string_view token) const { return more() && *at_ == token; }

    void skip_qualifiers() {
        for (; more() && is_qualifier(*at_); ++at_) const_ = const_ || *at_ == "const";
    }

    std::string read_type(Declared& out) {
        IntegerWords words;
        bool known = false;
        for (;; ++at_) {
            skip_qualifiers();
            if (!more() || !is_identifier(*at_)) break;
            if (known || words.any()) {
                if (known || !words.take(*at_)) break;  // the name
            } else if (is_tag(*at_)) {
                if (std::string wrong = read_tagged(out); !wrong.empty()) return wrong;
                known = true;
            } else if (*at_ == "void") {
                out.parameter.type = "void";
                known = is_void_ = true;
            } else if (!words.take(*at_)) {
                if (*at_ == "std" && at_ + 2 < end_ && at_[1] == "::") at_ += 2;
                Type type{};
                if (!find_type(*at_, type))
                    return "unknown type " + std::string(*at_) +
                           "; write a struct or enumeration as \"struct " + std::string(*at_) +
                           "\" or \"enum " + std::string(*at_) +
                           "\", or a pointer with unchecked elements as \"void*\"";
                set(out, type);
                known = true;
            }
        }
        if (words.any()) {
            Type type{};
            if (!words.read(type)) return "these words form no integer type";
            set(out, type);
        } else if (!known) {
            return more() ? "expected a type before \"" + std::string(*at_) + "\""
                          : "expected a type";
        }
        return "";
    }

    static void set(Declared& out, const Type& type) {
        out.parameter.type = type.spelled;
        out.parameter.kind = type.kind;
        out.parameter.size = type.size;
        out.align = type.align;
    }

    // "struct outer::Pair<float, 3>"; its size comes from the image.
    std::string read_tagged(Declared& out) {
        out.parameter.kind = *at_ == "enum" ? CUPOLA_INTEGER : CUPOLA_STRUCT;
        const std::string tag(*at_++);
        for (;; at_ += 2) {
            if (!more() || !is_identifier(*at_)) return "expected a name after " + tag;
            out.parameter.type += *at_;
            if (end_ - at_ < 3 || at_[1] != "::") break;
            out.parameter.type += "::";
        }
        if (end_ - at_ < 2 || at_[1] != "<") return "";
        int depth = 0;
        do {
            ++at_;
            if (!more()) return "missing > after <";
            depth += (*at_ == "<") - (*at_ == ">");
            out.parameter.type += *at_;
        } while (depth > 0);
        return "";
    }

    void add_pointer(Declared& out) {
        if (pointers_++) out.parameter.type += "*";
        out.parameter.kind = CUPOLA_POINTER | (const_ ? CUPOLA_CONST : 0);
        out.parameter.size = out.align = 8;
        const_ = false;
    }

    std::string read_pointers(Declared& out) {
        for (;; ++at_) {
            skip_qualifiers();
            if (!next_is("*") && !next_is("&")) return "";
            add_pointer(out);
        }
    }

    std::string read_name(Declared& out) {
        if (more() && is_identifier(*at_)) out.parameter.name = *at_++;
        if (next_is("[")) {
            while (more() && *at_ != "]") ++at_;
            if (!more()) return "missing ] after [";
            ++at_;
            add_pointer(out);
        }
        if (!more()) return "";
        if (*at_ == "(") return "pointers to functions are not supported; write void*";
        return "unexpected \"" + std::string(*at_) + "\"";
    }

    const std::string_view* at_;
    const std::string_view* end_;
    bool const_ = false;  // const applies to the target of the next *
    bool is_void_ = false;
    int pointers_ = 0;
};

std::string joined(const std::string_view* begin, const std::string_view* end) {
    std::string text;
    for (; begin != end; ++begin) {
        const bool apart = !text.empty() && is_word(begin->front()) &&
                           (is_word(text.back()) || text.back() == '*' || text.back() == '&');
        text += (apart ? " " : "") + std::string(*begin);
    }
    return text;
}

}  // namespace

std::string from_declaration(std::string_view text, std::vector<Declared>& found) {
    found.clear();
    Words tokens;
    if (text.size() > max_text) return "it is longer than 65536 bytes";
    if (!split(text, tokens)) return "a comment has no end";
    if (tokens.empty() || (tokens.size() == 1 && tokens[0] == "void")) return "";
    const std::string_view* begin = tokens.data();
    const std::string_view* const end = begin + tokens.size();
    int depth = 0;
    for (const std::string_view* at = begin; at <= end; ++at) {
        if (at != end) depth += (*at == "<") - (*at == ">");
        if (at != end && (*at != "," || depth > 0)) continue;
        if (found.size() == max_parameters) return "it has more than 4096 parameters";
        Declared one;
        const std::string wrong = Reader(begin, at).read(one);
        if (!wrong.empty())
            return "parameter " + std::to_string(found.size()) + " (\"" + joined(begin, at) +
                   "\"): " + wrong;
        for (const Declared& other : found)
            if (!one.parameter.name.empty() && other.parameter.name == one.parameter.name)
                return "two parameters are called " + one.parameter.name;
        found.push_back(std::move(one));
        begin = at + 1;
    }
    return "";
}

}  // namespace cupola
