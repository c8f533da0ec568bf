// csrc/runtime/module/parameter.cpp - kinds of parameters, from demangled names and manifests.
#include "runtime/module/parameter.hpp"

namespace cupola {
namespace {

constexpr std::uint32_t signs = CUPOLA_SIGNED | CUPOLA_UNSIGNED;

std::string_view trim(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

bool ends_with(std::string_view text, std::string_view end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

struct Known {
    std::string_view type;
    std::uint32_t kind, size;
};

constexpr Known known[] = {
    {"float", CUPOLA_FLOAT, 4},
    {"double", CUPOLA_FLOAT, 8},
    {"__half", CUPOLA_FLOAT, 2},
    {"__nv_bfloat16", CUPOLA_FLOAT | CUPOLA_BFLOAT, 2},
    {"bool", CUPOLA_INTEGER | CUPOLA_UNSIGNED, 1},
    {"char", CUPOLA_INTEGER | CUPOLA_SIGNED, 1},
    {"signed char", CUPOLA_INTEGER | CUPOLA_SIGNED, 1},
    {"unsigned char", CUPOLA_INTEGER | CUPOLA_UNSIGNED, 1},
    {"short", CUPOLA_INTEGER | CUPOLA_SIGNED, 2},
    {"unsigned short", CUPOLA_INTEGER | CUPOLA_UNSIGNED, 2},
    {"int", CUPOLA_INTEGER | CUPOLA_SIGNED, 4},
    {"unsigned int", CUPOLA_INTEGER | CUPOLA_UNSIGNED, 4},
    {"long", CUPOLA_INTEGER | CUPOLA_SIGNED, 8},
    {"unsigned long", CUPOLA_INTEGER | CUPOLA_UNSIGNED, 8},
    {"long long", CUPOLA_INTEGER | CUPOLA_SIGNED, 8},
    {"unsigned long long", CUPOLA_INTEGER | CUPOLA_UNSIGNED, 8},
};

const Known* find(std::string_view type) {
    for (const Known& row : known)
        if (row.type == type) return &row;
    return nullptr;
}

Parameter from_type(std::string_view type) {
    Parameter result;
    if (ends_with(type, "*") || ends_with(type, "&")) {
        type = trim(type.substr(0, type.size() - 1));
        result.kind = CUPOLA_POINTER;
        if (ends_with(type, " const")) {
            result.kind |= CUPOLA_CONST;
            type = trim(type.substr(0, type.size() - 6));
        }
        result.type = type;
        return result;
    }
    result.type = type;
    if (const Known* row = find(type)) result.kind = row->kind;
    return result;  // kind 0: a class or an enumeration; the name does not say which
}

}  // namespace

std::uint32_t kinds_of_size(std::uint32_t size) {
    switch (size) {
        case 8:
            return CUPOLA_POINTER | CUPOLA_INTEGER | CUPOLA_FLOAT | CUPOLA_STRUCT;
        case 4:
            return CUPOLA_INTEGER | CUPOLA_FLOAT | CUPOLA_STRUCT;
        case 2:
        case 1:
            return CUPOLA_INTEGER | CUPOLA_STRUCT;  // float16 or bfloat16
        default:
            return CUPOLA_STRUCT;
    }
}

std::string describe(const Parameter& p) {
    const std::uint32_t kind = p.kind & (CUPOLA_POINTER | CUPOLA_INTEGER | CUPOLA_FLOAT);
    const std::string bits = std::to_string(p.size * 8) + "-bit ";
    if (kind == CUPOLA_POINTER)
        return p.type.empty() ? "a pointer"
                              : std::string("a pointer to ") +
                                    (p.kind & CUPOLA_CONST ? "const " : "") + p.type;
    if (!p.type.empty())
        return p.type + (kind ? "" : " (a struct of " + std::to_string(p.size) + " bytes)");
    switch (kind) {
        case 0:
            return "a struct of " + std::to_string(p.size) + " bytes";
        case CUPOLA_INTEGER:
            return "a " + bits + "integer";
        case CUPOLA_FLOAT:
            return "a " + bits + "float";
        case CUPOLA_POINTER | CUPOLA_INTEGER:
            return "a pointer or a 64-bit integer";
        default:
            return "a value of " + std::to_string(p.size) + " bytes";
    }
}

std::size_t given_count(const std::vector<Parameter>& parameters) {
    std::size_t count = parameters.size();
    while (count && parameters[count - 1].kind & CUPOLA_HIDDEN) --count;
    return count;
}

bool differ(std::string_view one, std::string_view other) {
    const Known *a = find(one), *b = find(other);
    return a && b && (a->kind != b->kind || a->size != b->size);
}

bool from_demangled(std::string_view demangled, std::vector<Parameter>& parameters) {
    if (demangled.empty() || demangled.back() != ')') return false;
    // The list is the last (...) at depth zero of (), <>, [].
    std::size_t open = std::string_view::npos;
    int depth = 0;
    for (std::size_t i = demangled.size(); i-- > 0;) {
        char c = demangled[i];
        if (c == ')' || c == '>' || c == ']') ++depth;
        if (c == '(' || c == '<' || c == '[') --depth;
        if (depth == 0) {
            open = i;
            break;
        }
    }
    if (open == std::string_view::npos || demangled[open] != '(') return false;
    std::string_view list = demangled.substr(open + 1, demangled.size() - open - 2);
    parameters.clear();
    if (trim(list).empty() || trim(list) == "void") return true;
    std::size_t begin = 0;
    depth = 0;
    for (std::size_t i = 0; i <= list.size(); ++i) {
        char c = i < list.size() ? list[i] : ',';
        if (c == '(' || c == '<' || c == '[') ++depth;
        if (c == ')' || c == '>' || c == ']') --depth;
        if (c != ',' || (depth != 0 && i < list.size())) continue;
        parameters.push_back(from_type(trim(list.substr(begin, i - begin))));
        begin = i + 1;
    }
    return true;
}

bool from_function_type(std::string_view demangled, std::vector<Parameter>& parameters) {
    constexpr std::string_view after = ">()";
    const std::size_t begin = demangled.find('<');
    if (begin == std::string_view::npos || !ends_with(demangled, after)) return false;
    demangled.remove_suffix(after.size());
    if (demangled.size() < begin + 1) return false;
    demangled.remove_prefix(begin + 1);
    return demangled.find("(*)(") != std::string_view::npos &&
           from_demangled(demangled, parameters);
}

bool merge(std::vector<Parameter>& parameters, const std::vector<Parameter>& source) {
    if (parameters.size() != source.size()) return false;
    auto possible = [](const Parameter& have, const Parameter& declared) {
        const std::uint32_t n = have.size;
        if (declared.size && declared.size != n) return false;
        // Code that writes arguments relies on these sizes.
        if (declared.kind & CUPOLA_POINTER && n != 8) return false;
        if (declared.kind & CUPOLA_FLOAT && n != 2 && n != 4 && n != 8) return false;
        return !(declared.kind & CUPOLA_INTEGER) || n == 1 || n == 2 || n == 4 || n == 8;
    };
    for (std::size_t i = 0; i < parameters.size(); ++i)
        if (!possible(parameters[i], source[i])) return false;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        Parameter& have = parameters[i];
        const Parameter& declared = source[i];
        if (!declared.name.empty()) have.name = declared.name;
        if (!declared.type.empty()) have.type = declared.type;
        const std::uint32_t kinds = declared.kind & ~signs & ~std::uint32_t(CUPOLA_CONST);
        if (kinds) have.kind = kinds | (declared.kind & (signs | CUPOLA_CONST));
    }
    return true;
}

}  // namespace cupola
