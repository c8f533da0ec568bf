// csrc/ptx/form.hpp - what a row of the instruction table is.
#pragma once

#include <cstddef>
#include <string_view>

#include "ptx/modifiers.hpp"
#include "ptx/type.hpp"

namespace cupola::ptx {

// What may stand at one operand's place. T and T2 are the instruction's first and second type.
enum class OperandConstraint : std::uint8_t {
    d,        // destination register of T
    dw,       // destination twice as wide as T
    d32,      // destination of 32 bits
    dr,       // destination of T, whose register may be wider
    p,        // destination predicate
    pq,       // destination predicates p|q
    dp,       // destination d|p, the predicate being optional
    a,        // source of T, register or constant
    aw,       // source twice as wide as T
    a2,       // source of T2
    ar2,      // source of T2, whose register may be wider
    w,        // source of 32 bits
    h,        // source of 16 bits
    np,       // source predicate, may be negated
    imm,      // integer constant
    number,   // floating-point constant
    vd,       // destination of 32 bits, or parts of it that a selector names
    tensor,   // [tensor map, {coordinates}]
    shift,    // source vector of 16 bits, one for each of a tensor's axes but the first and last
    va,       // source of 32 bits, or parts of it; may be negated
    m,        // memory [address]
    dv,       // destination register or vector of T, registers may be wider
    av,       // source register or vector of T, registers may be wider
    dpack,    // destination vector that T is unpacked into
    apack,    // source vector that T is packed from
    address,  // source of T: register, or the address of a variable
    label,
    targets,   // a list of labels
    fetched,   // destination vector of T that a texel goes to, with a predicate behind it or none
    texel,     // [texture or surface, coordinates of T2]
    opaque,    // [texture or surface]
    gradient,  // source vector of f32, one for each axis
    offsets,   // source vector of s32, likewise
    cc_in,     // condition code, not written out
    cc_out,
    fd,  // fragment of a matrix: destination D, or what is loaded
    fa,  // of the factor A, or what is stored
    fb,
    fc,
    md,  // descriptor of a matrix in shared memory
};

struct OperandConstraints {
    OperandConstraint list[10];
    std::uint8_t count;
};
struct Types {
    Type list[16];
    std::uint8_t count;
};
struct ModifierSlots {
    const ModifierSlot* list[10];
    std::uint8_t count;
};

struct Form {
    std::string_view mnemonic;  // with the dotted words that belong to it: "bar.warp.sync"
    ModifierSlots slots;
    Types types, types2;
    OperandConstraints operands;
    std::uint16_t since;       // PTX version, major * 10 + minor
    std::string_view section;  // of the PTX ISA manual
};

}  // namespace cupola::ptx
