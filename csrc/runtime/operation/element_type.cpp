// csrc/runtime/operation/element_type.cpp - the table of element types.
#include "runtime/operation/element_type.hpp"

#include <algorithm>
#include <iterator>

namespace cupola {
namespace {

// DLPack's codes of types.
enum Code : std::uint8_t { integer = 0, natural = 1, real = 2, brain = 4, complex = 5, truth = 6 };

constexpr struct {
    std::string_view name;
    ElementType type;
} element_types[] = {
    {"float32", {real, 32}},      {"float64", {real, 64}},      {"float16", {real, 16}},
    {"bfloat16", {brain, 16}},    {"int8", {integer, 8}},       {"int16", {integer, 16}},
    {"int32", {integer, 32}},     {"int64", {integer, 64}},     {"uint8", {natural, 8}},
    {"uint16", {natural, 16}},    {"uint32", {natural, 32}},    {"uint64", {natural, 64}},
    {"bool", {truth, 8}},         {"complex64", {complex, 64}}, {"complex128", {complex, 128}},
    {"float8_e3m4", {7, 8}},      {"float8_e4m3", {8, 8}},      {"float8_e4m3b11fnuz", {9, 8}},
    {"float8_e4m3fn", {10, 8}},   {"float8_e4m3fnuz", {11, 8}}, {"float8_e5m2", {12, 8}},
    {"float8_e5m2fnuz", {13, 8}}, {"float8_e8m0fnu", {14, 8}},
};

constexpr struct {
    std::string_view name;
    ElementType type;
} c_types[] = {
    {"float", {real, 32}},
    {"double", {real, 64}},
    {"__half", {real, 16}},
    {"__nv_bfloat16", {brain, 16}},
    {"short", {integer, 16}},
    {"int", {integer, 32}},
    {"long", {integer, 64}},
    {"long long", {integer, 64}},
    {"unsigned short", {natural, 16}},
    {"unsigned int", {natural, 32}},
    {"unsigned long", {natural, 64}},
    {"unsigned long long", {natural, 64}},
    {"signed char", {integer, 8}},
    {"bool", {truth, 8}},
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

// "char" and "unsigned char" hold any byte, and 16-bit integers any 16 bits: storage types.
bool suits(std::string_view c_type, ElementType type) {
    if (c_type == "char" || c_type == "unsigned char") return type.bits == 8;
    if (c_type == "unsigned short" && type.bits == 16) return true;
    for (const auto& row : c_types)
        if (row.name == c_type) return row.type == type;
    return true;
}

}  // namespace cupola
