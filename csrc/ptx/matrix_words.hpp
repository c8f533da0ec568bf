// csrc/ptx/matrix_words.hpp - the vocabulary of the rows in table/matrix.inc.
#pragma once

#include "ptx/matrix_modifiers.hpp"
#include "ptx/words.hpp"

namespace cupola::ptx::words {

// ModifierSlots: a name, then field, optional, fixed, trailing, spellings.
inline constexpr ModifierSlot sync_aligned =
    slot(field::none, false, true, false, is("sync.aligned", 0));
inline constexpr ModifierSlot sparsity =
    slot(field::sparse, false, true, false, is("sp.sync.aligned", 1),
         is("sp::ordered_metadata.sync.aligned", 1));
inline constexpr ModifierSlot row_col = slot(field::none, false, true, false, is("row.col", 0));
inline constexpr ModifierSlot layout_a =
    slot(field::layout_a, false, true, false, is("row", 0), is("col", 1));
inline constexpr ModifierSlot layout_b =
    slot(field::layout_b, false, true, false, is("row", 0), is("col", 1));
inline constexpr ModifierSlot row_alone = slot(field::layout_a, false, true, false, is("row", 0));
inline constexpr ModifierSlot col_alone = slot(field::layout_a, false, true, false, is("col", 1));
inline constexpr ModifierSlot whole_row_col =
    slot(field::layout_b, false, true, false, is("row.col", 1));
inline constexpr ModifierSlot satfinite =
    slot(field::saturate, true, true, false, is("satfinite", 1));
inline constexpr ModifierSlot round_f64 =
    slot(field::round, true, true, false, is("rn", Round::rn), is("rz", Round::rz),
         is("rm", Round::rm), is("rp", Round::rp));
inline constexpr ModifierSlot bit_xor = slot(field::bit_and, false, true, false, is("xor.popc", 0));
inline constexpr ModifierSlot bit_and = slot(field::bit_and, false, true, false, is("and.popc", 1));
inline constexpr ModifierSlot matrix_space =
    slot(field::space, true, false, false, is("global", Space::global), is("shared", Space::shared),
         is("shared::cta", Space::shared));
inline constexpr ModifierSlot rows_space =
    slot(field::space, true, false, false, is("shared", Space::shared),
         is("shared::cta", Space::shared));
inline constexpr ModifierSlot matrices =
    slot(field::matrices, false, true, false, is("x1", 1), is("x2", 2), is("x4", 4));
inline constexpr ModifierSlot matrices_1_2 =
    slot(field::matrices, false, true, false, is("x1", 1), is("x2", 2));
inline constexpr ModifierSlot trans = slot(field::transposed, true, true, false, is("trans", 1));

inline constexpr ModifierSlot trans_always =
    slot(field::transposed, false, true, false, is("trans", 1));
inline constexpr ModifierSlot a_b16 = slot(field::none, false, true, false, is("b16", 0));
inline constexpr ModifierSlot stored_b8 =
    slot(field::stored, false, true, false, is("b8", Stored::b8));
inline constexpr ModifierSlot stored_padded =
    slot(field::stored, false, true, false, is("b8x16.b6x16_p32", Stored::b6),
         is("b8x16.b4x16_p64", Stored::b4));

inline constexpr ModifierSlot tile_8x8 =
    slot(field::tile, false, true, false, is("m8n8", Tile::m8n8));
inline constexpr ModifierSlot tile_16x16 =
    slot(field::tile, false, true, false, is("m16n16", Tile::m16n16));
inline constexpr ModifierSlot tile_8x16 =
    slot(field::tile, false, true, false, is("m8n16", Tile::m8n16));
inline constexpr ModifierSlot tile_16x8 =
    slot(field::tile, false, true, false, is("m16n8", Tile::m16n8));
inline constexpr ModifierSlot tile_8x8x4 =
    slot(field::tile, false, true, false, is("m8n8k4", Tile::m8n8k4));
inline constexpr ModifierSlot tile_8x8x16 =
    slot(field::tile, false, true, false, is("m8n8k16", Tile::m8n8k16));
inline constexpr ModifierSlot tile_8x8x32 =
    slot(field::tile, false, true, false, is("m8n8k32", Tile::m8n8k32));
inline constexpr ModifierSlot tile_8x8x128 =
    slot(field::tile, false, true, false, is("m8n8k128", Tile::m8n8k128));
inline constexpr ModifierSlot tile_k8 =
    slot(field::tile, false, true, false, is("m16n8k8", Tile::m16n8k8));
inline constexpr ModifierSlot tile_k16 =
    slot(field::tile, false, true, false, is("m16n8k16", Tile::m16n8k16));
inline constexpr ModifierSlot tile_k32 =
    slot(field::tile, false, true, false, is("m16n8k32", Tile::m16n8k32));
inline constexpr ModifierSlot tile_k64 =
    slot(field::tile, false, true, false, is("m16n8k64", Tile::m16n8k64));
inline constexpr ModifierSlot tile_k4_8 = slot(
    field::tile, false, true, false, is("m16n8k4", Tile::m16n8k4), is("m16n8k8", Tile::m16n8k8));
inline constexpr ModifierSlot tile_k8_16 = slot(
    field::tile, false, true, false, is("m16n8k8", Tile::m16n8k8), is("m16n8k16", Tile::m16n8k16));
inline constexpr ModifierSlot tile_k4_8_16 =
    slot(field::tile, false, true, false, is("m16n8k4", Tile::m16n8k4),
         is("m16n8k8", Tile::m16n8k8), is("m16n8k16", Tile::m16n8k16));
inline constexpr ModifierSlot tile_k16_32 =
    slot(field::tile, false, true, false, is("m16n8k16", Tile::m16n8k16),
         is("m16n8k32", Tile::m16n8k32));
inline constexpr ModifierSlot tile_k32_64 =
    slot(field::tile, false, true, false, is("m16n8k32", Tile::m16n8k32),
         is("m16n8k64", Tile::m16n8k64));
inline constexpr ModifierSlot tile_k64_128 =
    slot(field::tile, false, true, false, is("m16n8k64", Tile::m16n8k64),
         is("m16n8k128", Tile::m16n8k128));
inline constexpr ModifierSlot tile_k128 =
    slot(field::tile, false, true, false, is("m16n8k128", Tile::m16n8k128));
inline constexpr ModifierSlot tile_k128_256 =
    slot(field::tile, false, true, false, is("m16n8k128", Tile::m16n8k128),
         is("m16n8k256", Tile::m16n8k256));
inline constexpr ModifierSlot tile_whole =
    slot(field::tile, false, true, false, is("m16n16k16", Tile::m16n16k16),
         is("m8n32k16", Tile::m8n32k16), is("m32n8k16", Tile::m32n8k16));
inline constexpr ModifierSlot tile_whole_tf32 =
    slot(field::tile, false, true, false, is("m16n16k8", Tile::m16n16k8));

// Tiles of a warpgroup: the value is n / 8 - 1; k follows from the factors' type.
inline constexpr ModifierSlot tile_group_k8 = slot(
    field::tile, false, true, false, is("m64n8k8", 0), is("m64n16k8", 1), is("m64n24k8", 2),
    is("m64n32k8", 3), is("m64n40k8", 4), is("m64n48k8", 5), is("m64n56k8", 6), is("m64n64k8", 7),
    is("m64n72k8", 8), is("m64n80k8", 9), is("m64n88k8", 10), is("m64n96k8", 11),
    is("m64n104k8", 12), is("m64n112k8", 13), is("m64n120k8", 14), is("m64n128k8", 15),
    is("m64n136k8", 16), is("m64n144k8", 17), is("m64n152k8", 18), is("m64n160k8", 19),
    is("m64n168k8", 20), is("m64n176k8", 21), is("m64n184k8", 22), is("m64n192k8", 23),
    is("m64n200k8", 24), is("m64n208k8", 25), is("m64n216k8", 26), is("m64n224k8", 27),
    is("m64n232k8", 28), is("m64n240k8", 29), is("m64n248k8", 30), is("m64n256k8", 31));
inline constexpr ModifierSlot tile_group_k16 =
    slot(field::tile, false, true, false, is("m64n8k16", 0), is("m64n16k16", 1), is("m64n24k16", 2),
         is("m64n32k16", 3), is("m64n40k16", 4), is("m64n48k16", 5), is("m64n56k16", 6),
         is("m64n64k16", 7), is("m64n72k16", 8), is("m64n80k16", 9), is("m64n88k16", 10),
         is("m64n96k16", 11), is("m64n104k16", 12), is("m64n112k16", 13), is("m64n120k16", 14),
         is("m64n128k16", 15), is("m64n136k16", 16), is("m64n144k16", 17), is("m64n152k16", 18),
         is("m64n160k16", 19), is("m64n168k16", 20), is("m64n176k16", 21), is("m64n184k16", 22),
         is("m64n192k16", 23), is("m64n200k16", 24), is("m64n208k16", 25), is("m64n216k16", 26),
         is("m64n224k16", 27), is("m64n232k16", 28), is("m64n240k16", 29), is("m64n248k16", 30),
         is("m64n256k16", 31));
inline constexpr ModifierSlot tile_group_k32 =
    slot(field::tile, false, true, false, is("m64n8k32", 0), is("m64n16k32", 1), is("m64n24k32", 2),
         is("m64n32k32", 3), is("m64n40k32", 4), is("m64n48k32", 5), is("m64n56k32", 6),
         is("m64n64k32", 7), is("m64n72k32", 8), is("m64n80k32", 9), is("m64n88k32", 10),
         is("m64n96k32", 11), is("m64n104k32", 12), is("m64n112k32", 13), is("m64n120k32", 14),
         is("m64n128k32", 15), is("m64n136k32", 16), is("m64n144k32", 17), is("m64n152k32", 18),
         is("m64n160k32", 19), is("m64n168k32", 20), is("m64n176k32", 21), is("m64n184k32", 22),
         is("m64n192k32", 23), is("m64n200k32", 24), is("m64n208k32", 25), is("m64n216k32", 26),
         is("m64n224k32", 27), is("m64n232k32", 28), is("m64n240k32", 29), is("m64n248k32", 30),
         is("m64n256k32", 31));
inline constexpr ModifierSlot tile_group_bytes =
    slot(field::tile, false, true, false, is("m64n8k32", 0), is("m64n16k32", 1), is("m64n24k32", 2),
         is("m64n32k32", 3), is("m64n48k32", 5), is("m64n64k32", 7), is("m64n80k32", 9),
         is("m64n96k32", 11), is("m64n112k32", 13), is("m64n128k32", 15), is("m64n144k32", 17),
         is("m64n160k32", 19), is("m64n176k32", 21), is("m64n192k32", 23), is("m64n208k32", 25),
         is("m64n224k32", 27));
inline constexpr ModifierSlot tile_group_bits = slot(
    field::tile, false, true, false, is("m64n8k256", 0), is("m64n16k256", 1), is("m64n24k256", 2),
    is("m64n32k256", 3), is("m64n48k256", 5), is("m64n64k256", 7), is("m64n80k256", 9),
    is("m64n96k256", 11), is("m64n112k256", 13), is("m64n128k256", 15), is("m64n144k256", 17),
    is("m64n160k256", 19), is("m64n176k256", 21), is("m64n192k256", 23), is("m64n208k256", 25),
    is("m64n224k256", 27), is("m64n240k256", 29), is("m64n256k256", 31));
inline constexpr ModifierSlot tile_group_k64 =
    slot(field::tile, false, true, false, is("m64n8k64", 0), is("m64n16k64", 1), is("m64n24k64", 2),
         is("m64n32k64", 3), is("m64n40k64", 4), is("m64n48k64", 5), is("m64n56k64", 6),
         is("m64n64k64", 7), is("m64n72k64", 8), is("m64n80k64", 9), is("m64n88k64", 10),
         is("m64n96k64", 11), is("m64n104k64", 12), is("m64n112k64", 13), is("m64n120k64", 14),
         is("m64n128k64", 15), is("m64n136k64", 16), is("m64n144k64", 17), is("m64n152k64", 18),
         is("m64n160k64", 19), is("m64n168k64", 20), is("m64n176k64", 21), is("m64n184k64", 22),
         is("m64n192k64", 23), is("m64n200k64", 24), is("m64n208k64", 25), is("m64n216k64", 26),
         is("m64n224k64", 27), is("m64n232k64", 28), is("m64n240k64", 29), is("m64n248k64", 30),
         is("m64n256k64", 31));
inline constexpr ModifierSlot tile_group_bytes_k64 =
    slot(field::tile, false, true, false, is("m64n8k64", 0), is("m64n16k64", 1), is("m64n24k64", 2),
         is("m64n32k64", 3), is("m64n48k64", 5), is("m64n64k64", 7), is("m64n80k64", 9),
         is("m64n96k64", 11), is("m64n112k64", 13), is("m64n128k64", 15), is("m64n144k64", 17),
         is("m64n160k64", 19), is("m64n176k64", 21), is("m64n192k64", 23), is("m64n208k64", 25),
         is("m64n224k64", 27));

inline constexpr ModifierSlot d_f16 =
    slot(field::element_d, false, true, false, is("f16", Element::f16));
inline constexpr ModifierSlot d_f32 =
    slot(field::element_d, false, true, false, is("f32", Element::f32));
inline constexpr ModifierSlot d_f64 =
    slot(field::element_d, false, true, false, is("f64", Element::f64));
inline constexpr ModifierSlot d_s32 =
    slot(field::element_d, false, true, false, is("s32", Element::s32));
inline constexpr ModifierSlot d_real =
    slot(field::element_d, false, true, false, is("f16", Element::f16), is("f32", Element::f32));
inline constexpr ModifierSlot a_f16 =
    slot(field::element_a, false, true, false, is("f16", Element::f16));
inline constexpr ModifierSlot a_bf16 =
    slot(field::element_a, false, true, false, is("bf16", Element::bf16));
inline constexpr ModifierSlot a_tf32 =
    slot(field::element_a, false, true, false, is("tf32", Element::tf32));
inline constexpr ModifierSlot a_f64 =
    slot(field::element_a, false, true, false, is("f64", Element::f64));
inline constexpr ModifierSlot a_f32 =
    slot(field::element_a, false, true, false, is("f32", Element::f32));
inline constexpr ModifierSlot a_s32 =
    slot(field::element_a, false, true, false, is("s32", Element::s32));
inline constexpr ModifierSlot a_byte =
    slot(field::element_a, false, true, false, is("s8", Element::s8), is("u8", Element::u8));
inline constexpr ModifierSlot a_nibble =
    slot(field::element_a, false, true, false, is("s4", Element::s4), is("u4", Element::u4));
inline constexpr ModifierSlot a_bit =
    slot(field::element_a, false, true, false, is("b1", Element::b1));
inline constexpr ModifierSlot a_float8 = slot(field::element_a, false, true, false,
                                              is("e4m3", Element::e4m3), is("e5m2", Element::e5m2));
// Floats of 4, 6 and 8 bits, each in a byte.
inline constexpr ModifierSlot a_small =
    slot(field::element_a, false, true, false, is("e4m3", Element::e4m3), is("e5m2", Element::e5m2),
         is("e2m1", Element::e2m1), is("e2m3", Element::e2m3), is("e3m2", Element::e3m2));
inline constexpr ModifierSlot b_small =
    slot(field::element_b, false, true, false, is("e4m3", Element::e4m3), is("e5m2", Element::e5m2),
         is("e2m1", Element::e2m1), is("e2m3", Element::e2m3), is("e3m2", Element::e3m2));
inline constexpr ModifierSlot a_packed_e2m1 =
    slot(field::element_a, false, true, false, is("e2m1", Element::packed_e2m1));
inline constexpr ModifierSlot b_packed_e2m1 =
    slot(field::element_b, false, true, false, is("e2m1", Element::packed_e2m1));
inline constexpr ModifierSlot ordered_sparsity =
    slot(field::sparse, false, true, false, is("sp::ordered_metadata.sync.aligned", 1));
inline constexpr ModifierSlot kind_f8f6f4 =
    slot(field::kind, false, true, false, is("kind::f8f6f4", 1));
// Kinds with scale factors: the value is the number of scale factors in a row of A.
inline constexpr ModifierSlot kind_mxf8f6f4 =
    slot(field::scales, false, true, false, is("kind::mxf8f6f4.block_scale.scale_vec::1X", 1),
         is("kind::mxf8f6f4.block_scale", 1));
inline constexpr ModifierSlot kind_mxf4 =
    slot(field::scales, false, true, false, is("kind::mxf4.block_scale.scale_vec::2X", 2),
         is("kind::mxf4nvf4.block_scale.scale_vec::2X", 2), is("kind::mxf4.block_scale", 2));
inline constexpr ModifierSlot kind_mxf4nvf4 =
    slot(field::scales, false, true, false, is("kind::mxf4nvf4.block_scale.scale_vec::4X", 4));
inline constexpr ModifierSlot scale_ue8m0 =
    slot(field::scale_e4m3, false, true, false, is("ue8m0", 0));
inline constexpr ModifierSlot scale_ue4m3 =
    slot(field::scale_e4m3, false, true, false, is("ue4m3", 1));
inline constexpr ModifierSlot a_real =
    slot(field::element_a, false, true, false, is("f16", Element::f16), is("f32", Element::f32));
// Both factors have the same type, and the instruction names the type of each.
inline constexpr ModifierSlot ab_bytes =
    slot(field::element_a, false, true, false, is("s8.s8", Element::s8), is("u8.u8", Element::u8));
inline constexpr ModifierSlot ab_nibbles =
    slot(field::element_a, false, true, false, is("s4.s4", Element::s4), is("u4.u4", Element::u4));
inline constexpr ModifierSlot b_f16 =
    slot(field::element_b, false, true, false, is("f16", Element::f16));
inline constexpr ModifierSlot b_bf16 =
    slot(field::element_b, false, true, false, is("bf16", Element::bf16));
inline constexpr ModifierSlot b_tf32 =
    slot(field::element_b, false, true, false, is("tf32", Element::tf32));
inline constexpr ModifierSlot b_f64 =
    slot(field::element_b, false, true, false, is("f64", Element::f64));
inline constexpr ModifierSlot b_byte =
    slot(field::element_b, false, true, false, is("s8", Element::s8), is("u8", Element::u8));
inline constexpr ModifierSlot b_nibble =
    slot(field::element_b, false, true, false, is("s4", Element::s4), is("u4", Element::u4));
inline constexpr ModifierSlot b_bit =
    slot(field::element_b, false, true, false, is("b1", Element::b1));
inline constexpr ModifierSlot b_float8 = slot(field::element_b, false, true, false,
                                              is("e4m3", Element::e4m3), is("e5m2", Element::e5m2));
inline constexpr ModifierSlot c_f16 =
    slot(field::element_c, false, true, false, is("f16", Element::f16));
inline constexpr ModifierSlot c_f32 =
    slot(field::element_c, false, true, false, is("f32", Element::f32));
inline constexpr ModifierSlot c_f64 =
    slot(field::element_c, false, true, false, is("f64", Element::f64));
inline constexpr ModifierSlot c_s32 =
    slot(field::element_c, false, true, false, is("s32", Element::s32));
inline constexpr ModifierSlot c_real =
    slot(field::element_c, false, true, false, is("f16", Element::f16), is("f32", Element::f32));

}  // namespace cupola::ptx::words
