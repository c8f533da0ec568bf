// csrc/ptx/tcgen05_words.hpp - the vocabulary of the rows in table/tcgen05.inc.
#pragma once

#include "ptx/tcgen05.hpp"
#include "ptx/words.hpp"

namespace cupola::ptx::words {

// ModifierSlots: a name, then field, optional, fixed, trailing, spellings.
// One block, or the pair of blocks whose ranks in their cluster differ in the lowest bit.
inline constexpr ModifierSlot cta_group =
    slot(field::pair, false, true, false, is("cta_group::1", 0), is("cta_group::2", 1));
// An allocation beside which the multiprocessor has no other one.
inline constexpr ModifierSlot exclusive =
    slot(field::exclusive, false, true, false, is("exclusive", 1));
// Forms of one block alone.
inline constexpr ModifierSlot cta_group_1 =
    slot(field::pair, false, true, false, is("cta_group::1", 0));
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
// Kinds with scale factors. The versions of PTX and the targets that have the spellings differ.
inline constexpr ModifierSlot kind_mxf8f6f4_default = slot(
    field::scaled_kind, false, true, false,
    is("kind::mxf8f6f4.block_scale", kind_and_scales(TensorKind::mxf8f6f4, TensorScales::block32)));
inline constexpr ModifierSlot kind_mxf4_default =
    slot(field::scaled_kind, false, true, false,
         is("kind::mxf4.block_scale", kind_and_scales(TensorKind::mxf4, TensorScales::block32)));
inline constexpr ModifierSlot kind_mxf8f6f4_block =
    slot(field::scaled_kind, false, true, false,
         is("kind::mxf8f6f4.block_scale.block32",
            kind_and_scales(TensorKind::mxf8f6f4, TensorScales::block32)));
inline constexpr ModifierSlot kind_mxf4_block = slot(
    field::scaled_kind, false, true, false,
    is("kind::mxf4.block_scale.block32", kind_and_scales(TensorKind::mxf4, TensorScales::block32)),
    is("kind::mxf4nvf4.block_scale.block16",
       kind_and_scales(TensorKind::mxf4nvf4, TensorScales::block16)),
    is("kind::mxf4nvf4.block_scale.block32",
       kind_and_scales(TensorKind::mxf4nvf4, TensorScales::block32)));
inline constexpr ModifierSlot kind_scale_vec =
    slot(field::scaled_kind, false, true, false,
         is("kind::mxf8f6f4.block_scale.scale_vec::1X",
            kind_and_scales(TensorKind::mxf8f6f4, TensorScales::one)),
         is("kind::mxf4.block_scale.scale_vec::2X",
            kind_and_scales(TensorKind::mxf4, TensorScales::two)));
inline constexpr ModifierSlot kind_mxf4nvf4_scale_vec =
    slot(field::scaled_kind, false, true, false,
         is("kind::mxf4nvf4.block_scale.scale_vec::2X",
            kind_and_scales(TensorKind::mxf4nvf4, TensorScales::two)),
         is("kind::mxf4nvf4.block_scale.scale_vec::4X",
            kind_and_scales(TensorKind::mxf4nvf4, TensorScales::four)));
// Whether A is kept for later products, which has no effect on results.
inline constexpr ModifierSlot collector =
    slot(field::none, true, false, false, is("collector::a::fill", 0), is("collector::a::use", 0),
         is("collector::a::lastuse", 0), is("collector::a::discard", 0));
// With A in tensor memory, its rows may be shifted.
inline constexpr ModifierSlot collector_or_shift = slot(
    field::shifts_rows, true, true, false, is("collector::a::fill", 0), is("collector::a::use", 0),
    is("collector::a::lastuse", 0), is("collector::a::discard", 0),
    is("ashift.collector::a::lastuse", 1), is("ashift.collector::a::discard", 1), is("ashift", 1));
// Whether B is kept.
inline constexpr ModifierSlot collector_b = slot(
    field::none, true, false, false, is("collector::b0::fill", 0), is("collector::b0::use", 0),
    is("collector::b0::lastuse", 0), is("collector::b0::discard", 0), is("collector::b1::fill", 0),
    is("collector::b1::use", 0), is("collector::b1::lastuse", 0), is("collector::b1::discard", 0),
    is("collector::b2::fill", 0), is("collector::b2::use", 0), is("collector::b2::lastuse", 0),
    is("collector::b2::discard", 0), is("collector::b3::fill", 0), is("collector::b3::use", 0),
    is("collector::b3::lastuse", 0), is("collector::b3::discard", 0));
inline constexpr ModifierSlot kind_f16_tf32 =
    slot(field::tensor_kind, false, true, false, is("kind::f16", TensorKind::f16),
         is("kind::tf32", TensorKind::tf32));
inline constexpr ModifierSlot copy_shape =
    slot(field::copy_shape, false, true, false, is("128x256b", CopyShape::s128x256b),
         is("4x256b", CopyShape::s4x256b), is("128x128b", CopyShape::s128x128b),
         is("64x128b.warpx2::02_13", CopyShape::s64x128b_02_13),
         is("64x128b.warpx2::01_23", CopyShape::s64x128b_01_23),
         is("32x128b.warpx4", CopyShape::s32x128b));
inline constexpr ModifierSlot copy_format =
    slot(field::copy_format, true, true, false, is("b8x16.b6x16_p32", CopyFormat::b6),
         is("b8x16.b4x16_p64", CopyFormat::b4));
inline constexpr ModifierSlot down = slot(field::none, false, true, false, is("down", 0));
inline constexpr ModifierSlot x2_to_x128 =
    slot(field::log_repetitions, false, true, false, is("x2", 1), is("x4", 2), is("x8", 3),
         is("x16", 4), is("x32", 5), is("x64", 6), is("x128", 7));
inline constexpr ModifierSlot column_reduction =
    slot(field::column_reduction, false, true, false, is("min", ColumnReduction::min),
         is("max", ColumnReduction::max));
inline constexpr ModifierSlot arrive_one =
    slot(field::none, false, true, false, is("mbarrier::arrive::one", 0));

}  // namespace cupola::ptx::words
