// csrc/ptx/table.hpp - the instruction table: one row for each form. The rows are in table/*.inc,
// one file for each group. The CPU device binds the same rows to its functions.
#pragma once

#include <cstddef>

#include "ptx/form.hpp"
#include "ptx/matrix_words.hpp"
#include "ptx/tcgen05_words.hpp"
#include "ptx/video_words.hpp"

namespace cupola::ptx {

namespace table {
using namespace words;
#define FORM(mnemonic, semantics, slots, types, types2, operands, since, targets, section) \
    Form{mnemonic, opcode_of(mnemonic), slots, types, types2, operands, since, targets, section},
inline constexpr Form integer[] = {
#include "ptx/table/integer.inc"
};
inline constexpr Form real[] = {
#include "ptx/table/real.inc"
};
inline constexpr Form compare[] = {
#include "ptx/table/compare.inc"
};
inline constexpr Form convert[] = {
#include "ptx/table/convert.inc"
};
inline constexpr Form move[] = {
#include "ptx/table/move.inc"
};
inline constexpr Form control[] = {
#include "ptx/table/control.inc"
};
inline constexpr Form sync[] = {
#include "ptx/table/sync.inc"
};
inline constexpr Form matrix[] = {
#include "ptx/table/matrix.inc"
};
inline constexpr Form video[] = {
#include "ptx/table/video.inc"
};
inline constexpr Form async[] = {
#include "ptx/table/async.inc"
};
inline constexpr Form texture[] = {
#include "ptx/table/texture.inc"
};
inline constexpr Form tcgen05[] = {
#include "ptx/table/tcgen05.inc"
};
#undef FORM
}  // namespace table

struct InstructionGroup {
    const Form* rows;
    std::size_t count;
};

enum class InstructionGroupId : std::uint8_t {
    integer,
    real,
    compare,
    convert,
    move,
    control,
    sync,
    matrix,
    async,
    video,
    texture,
    tcgen05,
};

inline constexpr InstructionGroup instruction_groups[] = {
    {table::integer, sizeof(table::integer) / sizeof(Form)},
    {table::real, sizeof(table::real) / sizeof(Form)},
    {table::compare, sizeof(table::compare) / sizeof(Form)},
    {table::convert, sizeof(table::convert) / sizeof(Form)},
    {table::move, sizeof(table::move) / sizeof(Form)},
    {table::control, sizeof(table::control) / sizeof(Form)},
    {table::sync, sizeof(table::sync) / sizeof(Form)},
    {table::matrix, sizeof(table::matrix) / sizeof(Form)},
    {table::async, sizeof(table::async) / sizeof(Form)},
    {table::video, sizeof(table::video) / sizeof(Form)},
    {table::texture, sizeof(table::texture) / sizeof(Form)},
    {table::tcgen05, sizeof(table::tcgen05) / sizeof(Form)},
};

// The index of a row; the group is in the high byte.
struct FormId {
    std::uint16_t value = 0xffff;
    constexpr FormId() = default;
    constexpr FormId(unsigned group, unsigned row)
        : value(static_cast<std::uint16_t>(group << 8 | row)) {}
    constexpr unsigned group() const { return value >> 8; }
    constexpr unsigned row() const { return value & 255u; }
    const Form& form() const { return instruction_groups[group()].rows[row()]; }
    Opcode opcode() const { return form().opcode; }
};

}  // namespace cupola::ptx
