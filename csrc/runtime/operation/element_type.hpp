// csrc/runtime/operation/element_type.hpp - element types of tensors, by name and by DLPack's code.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cupola {

struct ElementType {
    std::uint8_t code = 0, bits = 0;  // DLPack's; bits 0: none

    bool operator==(const ElementType& other) const {
        return code == other.code && bits == other.bits;
    }
    bool operator!=(const ElementType& other) const { return !(*this == other); }
};

// The type of a name such as "float32", with bits 0 where there is none.
ElementType element_type_of(std::string_view name);
bool is_known(ElementType type);
// The name; a text with code and bits where no name exists.
std::string name_of(ElementType type);
// Whether a kernel's pointer to a C type can hold such elements. True where the C type is not known
// to be a number.
bool suits(std::string_view c_type, ElementType type);

}  // namespace cupola
