// csrc/runtime/operation/element_type.cpp - the table of element types.
#include "runtime/operation/element_type.hpp"

#include <algorithm>
#include <iterator>

namespace cupola {
namespace {

// The build writes the rows from package/cupola/declare/element_types.py.
constexpr struct {
    std::string_view name;
    ElementType type;
} element_types[] = {
#define CUPOLA_ELEMENT_TYPE(name, code, bits) {name, {code, bits}},
#define CUPOLA_HOLDS(c_type, code, bits)
#include CUPOLA_ELEMENT_TYPES
#undef CUPOLA_ELEMENT_TYPE
#undef CUPOLA_HOLDS
};

// The types of elements that a pointer to a C type can hold.
constexpr struct {
    std::string_view c_type;
    ElementType type;
} holds[] = {
#define CUPOLA_ELEMENT_TYPE(name, code, bits)
#define CUPOLA_HOLDS(c_type, code, bits) {c_type, {code, bits}},
#include CUPOLA_ELEMENT_TYPES
#undef CUPOLA_ELEMENT_TYPE
#undef CUPOLA_HOLDS
};

}  // namespace

ElementType element_type_of(std::string_view name) {
    for (const auto& row : element_types)
        if (row.name == name) return row.type;
    return {};
}

bool is_known(ElementType type) {
    return std::any_of(std::begin(element_types), std::end(element_types),
                       [&](const auto& row) { return row.type == type; });
}

std::string name_of(ElementType type) {
    for (const auto& row : element_types)
        if (row.type == type) return std::string(row.name);
    return "elements of DLPack code " + std::to_string(type.code) + " and " +
           std::to_string(type.bits) + " bits";
}

bool suits(std::string_view c_type, ElementType type) {
    bool is_number = false;
    for (const auto& row : holds) {
        if (row.c_type != c_type) continue;
        if (row.type == type) return true;
        is_number = true;
    }
    return !is_number;
}

}  // namespace cupola
