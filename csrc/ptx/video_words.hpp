// csrc/ptx/video_words.hpp - the vocabulary of the rows in table/video.inc.
#pragma once

#include "ptx/words.hpp"

namespace cupola::ptx {

// Fields of Instruction::modifiers in a video instruction. The instruction's type and type2 are
// those of the result and the first source; in vset they are those of the two sources.
namespace video {
inline constexpr Field b_signed{0, 1}, saturate{1, 1}, second{2, 2}, operation{4, 4}, compare{8, 3},
    wrap{11, 1}, scale{12, 2}, plus_one{14, 1}, accumulate{15, 1};
enum class Operation : std::uint8_t { add, sub, absdiff, min, max, shl, shr, average, set, mad };
enum class Second : std::uint8_t { none, add, min, max };
}  // namespace video

namespace words {

inline constexpr ModifierSlot b_type =
    slot(video::b_signed, false, false, true, is("u32", 0), is("s32", 1));
inline constexpr ModifierSlot b_type_unsigned =
    slot(video::b_signed, false, false, true, is("u32", 0));
inline constexpr ModifierSlot saturate_video =
    slot(video::saturate, true, false, true, is("sat", 1));
inline constexpr ModifierSlot second_operation =
    slot(video::second, true, false, true, is("add", video::Second::add),
         is("min", video::Second::min), is("max", video::Second::max));
inline constexpr ModifierSlot shift_mode =
    slot(video::wrap, false, false, true, is("clamp", 0), is("wrap", 1));
inline constexpr ModifierSlot plus_one = slot(video::plus_one, true, false, true, is("po", 1));
inline constexpr ModifierSlot scale_video =
    slot(video::scale, true, false, true, is("shr7", 1), is("shr15", 2));
inline constexpr ModifierSlot compare_video = slot(
    video::compare, false, false, true, is("eq", Compare::eq), is("ne", Compare::ne),
    is("lt", Compare::lt), is("le", Compare::le), is("gt", Compare::gt), is("ge", Compare::ge));
inline constexpr ModifierSlot accumulate = slot(video::accumulate, true, false, true, is("add", 1));

}  // namespace words
}  // namespace cupola::ptx
