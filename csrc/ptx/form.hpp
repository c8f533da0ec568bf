// csrc/ptx/form.hpp - a row of the instruction table: one form of an instruction.
#pragma once

#include <cstddef>
#include <string_view>

#include "ptx/modifiers.hpp"
#include "ptx/opcode.hpp"
#include "ptx/targets.hpp"
#include "ptx/type.hpp"

namespace cupola::ptx {

// The operands that a position accepts. T and T2 are the instruction's first and second type.
enum class OperandConstraint : std::uint8_t {
    d,        // destination register of T
    dw,       // destination twice as wide as T
    d32,      // destination of 32 bits
    d8,       // destination register of 8 bits, never '_'
    dr,       // destination of T; the register may be wider
    p,        // destination predicate
    pq,       // destination predicates p|q
    dp,       // destination d|p; the predicate is optional
    a,        // source of T, register or constant
    aw,       // source twice as wide as T
    a2,       // source of T2
    ar2,      // source of T2; the register may be wider
    four_a2,  // source vector of four T2
    w,        // source of 32 bits
    h,        // source of 16 bits
    few,      // source of 32 bits: a number of bytes below 16
    np,       // source predicate, may be negated
    imm,      // integer constant
    number,   // floating-point constant
    vd,       // destination of 32 bits, or the parts that a selector names
    tensor,   // [tensor map, {coordinates}]
    shift,    // source vector of 16 bits: offsets of a copy of columns (im2col)
    va,       // source of 32 bits, or parts of it; may be negated
    m,        // memory [address]
    dv,       // destination register or vector of T; registers may be wider
    av,       // source register or vector of T; registers may be wider
    dpack,    // destination vector that T is unpacked into
    apack,    // source vector that T is packed from
    address,  // source of T: register, or the address of a variable
    label,
    targets,   // a list of labels
    fetched,   // destination vector of T for a texel, optionally followed by a predicate
    texel,     // [texture or surface, coordinates of T2]
    opaque,    // [texture or surface]
    gradient,  // source vector of f32, one for each axis
    offsets,   // source vector of s32, one for each axis
    cc_in,     // condition code; implicit in the text
    cc_out,
    fd,  // matrix fragment: destination D, or the loaded matrix
    fa,  // matrix fragment: factor A, or the stored matrix
    fb,
    fc,
    md,  // descriptor of a matrix in shared memory
    sd,  // register of 32 bits with scale factors
    sa,  // {byte, lanes}: where the scale factors of A are; B has more choices of lanes
    sb,
    tm,        // [address in tensor memory]
    td,        // destination vector of tcgen05.ld
    ts,        // source vector of tcgen05.st
    columns,   // source of 32 bits: a number of columns of tensor memory
    mask,      // source vector of 4 or 8 x 32 bits, one for each lane of tensor memory
    tr,        // destination of 32 bits, never '_'
    halvings,  // integer constant from 0 to 15
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
    std::string_view mnemonic;  // with its fixed dotted words: "bar.warp.sync"
    Opcode opcode;
    ModifierSlots slots;
    Types types, types2;
    OperandConstraints operands;
    std::uint16_t since;       // PTX version, major * 10 + minor
    Targets targets;           // the targets that have the form
    std::string_view section;  // section of the PTX ISA manual
};

}  // namespace cupola::ptx
