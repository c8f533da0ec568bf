// csrc/runtime/operation/declaration.hpp - what an operation takes, computes and launches.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/operation/element_type.hpp"
#include "runtime/operation/expression.hpp"

namespace cupola {

// One length of a tensor's shape.
struct Length {
    enum Kind { binds, computed, broadcast } kind = binds;
    int symbol = -1;        // that it binds, or that it may be broadcast to
    Expression expression;  // expression of a computed size
};

struct TensorDeclaration {
    enum Role { input, output, workspace } role = input;
    std::string name;
    std::string text;  // "T[ny, nx]", for messages
    ElementType type;  // bits 0: the variable's
    int variable = -1;
    bool optional = false;
    bool mutated = false;
    bool strided = false;  // the kernel takes strides; else C order is needed
    bool has_pack = false;
    std::vector<Length> lengths;  // after the pack

    bool is_written() const { return mutated || role != input; }
};

struct ScalarDeclaration {
    enum Kind { real, integer, truth } kind = real;
    std::string name;
    int symbol = -1;  // index of the symbol that an integer defines
};

// A tensor's address or a computed integer in a struct.
struct FieldDeclaration {
    std::uint32_t offset = 0, size = 0;  // bytes
    int tensor = -1;                     // index of the tensor; -1: the expression is meant
    Expression expression;
};

// One argument of the kernel.
struct ArgumentDeclaration {
    enum Kind { tensor, scalar, value, record } kind = value;
    int index = 0;                         // index of the tensor or the scalar
    Expression expression;                 // expression of a computed value
    std::uint32_t size = 0;                // bytes of a struct
    std::vector<FieldDeclaration> fields;  // other bytes of the struct are 0

    bool has_tensor() const {
        return kind == tensor ||
               std::any_of(fields.begin(), fields.end(),
                           [](const FieldDeclaration& one) { return one.tensor >= 0; });
    }
};

// A value that a call computes from its tensors, beside the sizes.
struct DerivedSymbol {
    enum Kind { stride, present, element_size } kind = stride;
    int index = 0;     // index of the tensor or the type variable; -1: `type` is meant
    int axis = 0;      // axis of a stride, counted without the pack
    ElementType type;  // type whose size is meant
    int symbol = 0;
};

struct Declaration {
    static constexpr std::size_t max_tensors = 64, max_scalars = 64, max_symbols = 256;
    static constexpr std::size_t max_axes = 64, max_arguments = 128, max_variants = 256;
    static constexpr std::size_t max_lengths = 32, max_fields = 256, max_record = 4096;

    std::string name;
    std::vector<std::string> variables;  // type variables
    struct Variant {
        std::vector<ElementType> types;  // type of each variable
        std::string kernel;              // its name in the image
    };
    std::vector<Variant> variants;
    std::vector<TensorDeclaration> tensors;  // inputs, outputs, workspaces
    std::vector<ScalarDeclaration> scalars;
    std::vector<std::string> symbols;  // names by index
    int pack = -1;                     // the symbol of the product of the pack's lengths
    std::vector<DerivedSymbol> derived;
    struct Named {
        int symbol;
        Expression expression;
    };
    std::vector<Named> sizes;
    std::vector<Expression> checks;
    std::vector<ArgumentDeclaration> arguments;
    Expression grid[3], block[3], cluster[3], shared, cooperative, dependent, priority, carveout;
    bool has_attributes = false;
    std::uint32_t align = 1;  // bytes, of each tensor's address
    enum Batch { none, loop, symbol } batch = none;
    int batch_symbol = -1;

    // "argument u" or "output v", for messages.
    std::string title(std::size_t tensor) const;
};

// Reads the bytes of cupola/operation.h, which are untrusted. Throws where they are invalid.
Declaration read_declaration(std::string_view bytes);

}  // namespace cupola
