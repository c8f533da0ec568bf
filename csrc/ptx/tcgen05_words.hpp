// csrc/ptx/tcgen05_words.hpp - the vocabulary of the rows in table/tcgen05.inc.
#pragma once

#include "ptx/tcgen05.hpp"
#include "ptx/words.hpp"

namespace cupola::ptx::words {

// ModifierSlots: a name, then field, optional, fixed, trailing, spellings.
inline constexpr ModifierSlot cta_group_1 =
    slot(field::none, false, true, false, is("cta_group::1", 0));
inline constexpr ModifierSlot sync_always = slot(field::none, false, true, false, is("sync", 0));
inline constexpr ModifierSlot aligned_always =
    slot(field::none, false, true, false, is("aligned", 0));
inline constexpr ModifierSlot shape_32x32b =
    slot(field::tensor_shape, false, true, false, is("32x32b", TensorShape::s32x32b));
inline constexpr ModifierSlot shape_16x64b =
    slot(field::tensor_shape, false, true, false, is("16x64b", TensorShape::s16x64b));
inline constexpr ModifierSlot shape_16x128b =
    slot(field::tensor_shape, false, true, false, is("16x128b", TensorShape::s16x128b));
inline constexpr ModifierSlot shape_16x256b =
    slot(field::tensor_shape, false, true, false, is("16x256b", TensorShape::s16x256b));
inline constexpr ModifierSlot shape_16x32bx2 =
    slot(field::tensor_shape, false, true, false, is("16x32bx2", TensorShape::s16x32bx2));
// A lane has up to 128 registers. The value is the logarithm.
inline constexpr ModifierSlot up_to_x128 =
    slot(field::log_repetitions, false, true, false, is("x1", 0), is("x2", 1), is("x4", 2),
         is("x8", 3), is("x16", 4), is("x32", 5), is("x64", 6), is("x128", 7));
inline constexpr ModifierSlot up_to_x64 =
    slot(field::log_repetitions, false, true, false, is("x1", 0), is("x2", 1), is("x4", 2),
         is("x8", 3), is("x16", 4), is("x32", 5), is("x64", 6));
inline constexpr ModifierSlot up_to_x32 =
    slot(field::log_repetitions, false, true, false, is("x1", 0), is("x2", 1), is("x4", 2),
         is("x8", 3), is("x16", 4), is("x32", 5));
inline constexpr ModifierSlot pack = slot(field::halves, true, true, false, is("pack::16b", 1));
inline constexpr ModifierSlot unpack = slot(field::halves, true, true, false, is("unpack::16b", 1));
inline constexpr ModifierSlot kind_float =
    slot(field::tensor_kind, false, true, false, is("kind::f16", TensorKind::f16),
         is("kind::tf32", TensorKind::tf32), is("kind::f8f6f4", TensorKind::f8f6f4));
inline constexpr ModifierSlot kind_i8 =
    slot(field::tensor_kind, false, true, false, is("kind::i8", TensorKind::i8));
// Whether A is kept for later products, which has no effect on results.
inline constexpr ModifierSlot collector =
    slot(field::none, true, false, false, is("collector::a::fill", 0), is("collector::a::use", 0),
         is("collector::a::lastuse", 0), is("collector::a::discard", 0));
inline constexpr ModifierSlot arrive_one =
    slot(field::none, false, true, false, is("mbarrier::arrive::one", 0));

}  // namespace cupola::ptx::words
