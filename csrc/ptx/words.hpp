// csrc/ptx/words.hpp - the words that rows of the instruction table are written in.
#pragma once

#include "ptx/form.hpp"

namespace cupola::ptx {
namespace words {

template <class... A>
constexpr Axes mods(const A&... a) {
    return {{&a...}, sizeof...(A)};
}
constexpr Axes mods() { return {{}, 0}; }
template <class... T>
constexpr Types types(T... t) {
    return {{t...}, sizeof...(T)};
}
constexpr Types types() { return {{}, 0}; }
template <class... S>
constexpr Shapes operands(S... s) {
    return {{s...}, sizeof...(S)};
}
constexpr Shapes operands() { return {{}, 0}; }

inline constexpr Type u8 = Type::u8, u16 = Type::u16, u32 = Type::u32, u64 = Type::u64,
                      s8 = Type::s8, s16 = Type::s16, s32 = Type::s32, s64 = Type::s64,
                      b8 = Type::b8, b16 = Type::b16, b32 = Type::b32, b64 = Type::b64,
                      b128 = Type::b128, f16 = Type::f16, f16x2 = Type::f16x2, bf16 = Type::bf16,
                      bf16x2 = Type::bf16x2, tf32 = Type::tf32, e4m3 = Type::e4m3,
                      e5m2 = Type::e5m2, e4m3x2 = Type::e4m3x2, e5m2x2 = Type::e5m2x2,
                      f32 = Type::f32, f64 = Type::f64, u16x2 = Type::u16x2, s16x2 = Type::s16x2,
                      pred = Type::pred;

inline constexpr Shape d = Shape::d, dw = Shape::dw, d32 = Shape::d32, dr = Shape::dr, p = Shape::p,
                       pq = Shape::pq, dp = Shape::dp, a = Shape::a, aw = Shape::aw, a2 = Shape::a2,
                       fetched = Shape::fetched, texel = Shape::texel, opaque = Shape::opaque,
                       gradient = Shape::gradient, offsets = Shape::offsets, ar2 = Shape::ar2,
                       w = Shape::w, h = Shape::h, np = Shape::np, imm = Shape::imm,
                       number = Shape::number, m = Shape::m, dv = Shape::dv, av = Shape::av,
                       dpack = Shape::dpack, apack = Shape::apack, address = Shape::address,
                       label = Shape::label, targets = Shape::targets, cc_in = Shape::cc_in,
                       cc_out = Shape::cc_out, fd = Shape::fd, fa = Shape::fa, fb = Shape::fb,
                       fc = Shape::fc, md = Shape::md, vd = Shape::vd, va = Shape::va,
                       tensor = Shape::tensor, shift = Shape::shift;

template <class E>
constexpr Axis::Choice is(std::string_view text, E value) {
    return {text, static_cast<std::uint8_t>(value)};
}

// Axes: a name, then field, optional, fixed, trailing, spellings.
inline constexpr Axis ftz = axis(field::ftz, true, true, false, is("ftz", 1));
inline constexpr Axis ftz_always = axis(field::ftz, false, true, false, is("ftz", 1));
inline constexpr Axis sat = axis(field::sat, true, true, false, is("sat", 1));
inline constexpr Axis sat_always = axis(field::sat, false, true, false, is("sat", 1));
inline constexpr Axis sat_implied = axis(field::none, true, false, false, is("sat", 0));
// In conversions: the largest number in place of an infinity.
inline constexpr Axis finite = axis(field::satfinite, true, true, false, is("satfinite", 1));
inline constexpr Axis finite_always =
    axis(field::satfinite, false, true, false, is("satfinite", 1));
inline constexpr Axis oob = axis(field::none, false, false, false, is("oob", 0));
inline constexpr Axis relu = axis(field::relu, true, true, false, is("relu", 1));
inline constexpr Axis nan = axis(field::nan, true, true, false, is("NaN", 1));
inline constexpr Axis xorsign = axis(field::xorsign, true, true, false, is("xorsign.abs", 1));
inline constexpr Axis rnd = axis(field::round, true, true, false, is("rn", Round::rn),
                                 is("rz", Round::rz), is("rm", Round::rm), is("rp", Round::rp));
inline constexpr Axis rnd_always =
    axis(field::round, false, true, false, is("rn", Round::rn), is("rz", Round::rz),
         is("rm", Round::rm), is("rp", Round::rp));
inline constexpr Axis rn = axis(field::round, true, true, false, is("rn", Round::rn));
inline constexpr Axis rn_always = axis(field::round, false, true, false, is("rn", Round::rn));
inline constexpr Axis rna_always = axis(field::round, false, true, false, is("rna", Round::rna));
inline constexpr Axis rn_rz =
    axis(field::round, false, true, false, is("rn", Round::rn), is("rz", Round::rz));
inline constexpr Axis rnd_integral =
    axis(field::round, false, true, false, is("rni", Round::rni), is("rzi", Round::rzi),
         is("rmi", Round::rmi), is("rpi", Round::rpi));
inline constexpr Axis low_high =
    axis(field::part, false, true, false, is("lo", Part::lo), is("hi", Part::hi));
inline constexpr Axis compare_bits =
    axis(field::compare, false, true, false, is("eq", Compare::eq), is("ne", Compare::ne));
inline constexpr Axis compare_signed = axis(
    field::compare, false, true, false, is("eq", Compare::eq), is("ne", Compare::ne),
    is("lt", Compare::lt), is("le", Compare::le), is("gt", Compare::gt), is("ge", Compare::ge));
// lo, ls, hi, hs are lt, le, gt, ge under another name.
inline constexpr Axis compare_unsigned = axis(
    field::compare, false, true, false, is("eq", Compare::eq), is("ne", Compare::ne),
    is("lt", Compare::lt), is("le", Compare::le), is("gt", Compare::gt), is("ge", Compare::ge),
    is("lo", Compare::lt), is("ls", Compare::le), is("hi", Compare::gt), is("hs", Compare::ge));
inline constexpr Axis compare_float =
    axis(field::compare, false, true, false, is("eq", Compare::eq), is("ne", Compare::ne),
         is("lt", Compare::lt), is("le", Compare::le), is("gt", Compare::gt), is("ge", Compare::ge),
         is("equ", Compare::equ), is("neu", Compare::neu), is("ltu", Compare::ltu),
         is("leu", Compare::leu), is("gtu", Compare::gtu), is("geu", Compare::geu),
         is("num", Compare::num), is("nan", Compare::nan));
inline constexpr Axis boolean = axis(field::boolean, false, false, false, is("and", Boolean::and_),
                                     is("or", Boolean::or_), is("xor", Boolean::xor_));
inline constexpr Axis boolean_and_or =
    axis(field::boolean, false, false, false, is("and", Boolean::and_), is("or", Boolean::or_));
inline constexpr Axis test = axis(field::mode, false, true, false, is("finite", TestP::finite),
                                  is("infinite", TestP::infinite), is("number", TestP::number),
                                  is("notanumber", TestP::notanumber), is("normal", TestP::normal),
                                  is("subnormal", TestP::subnormal));
inline constexpr Axis permute =
    axis(field::mode, true, true, true, is("f4e", Permute::f4e), is("b4e", Permute::b4e),
         is("rc8", Permute::rc8), is("ecl", Permute::ecl), is("ecr", Permute::ecr),
         is("rc16", Permute::rc16));
inline constexpr Axis funnel =
    axis(field::mode, false, true, false, is("wrap", Mode::wrap), is("clamp", Mode::clamp));
inline constexpr Axis shiftamt = axis(field::mode, true, true, false, is("shiftamt", 1));
inline constexpr Axis bmsk_mode =
    axis(field::mode, false, true, false, is("clamp", Mode::clamp), is("wrap", Mode::wrap));
inline constexpr Axis shuffle =
    axis(field::mode, false, true, false, is("up", Mode::up), is("down", Mode::down),
         is("bfly", Mode::bfly), is("idx", Mode::idx));
inline constexpr Axis vote_mode = axis(field::mode, false, true, false, is("all", Mode::all),
                                       is("any", Mode::any), is("uni", Mode::uni));
inline constexpr Axis reduce_integer =
    axis(field::operation, false, true, false, is("add", Atomic::add), is("min", Atomic::min),
         is("max", Atomic::max));
inline constexpr Axis reduce_bits =
    axis(field::operation, false, true, false, is("and", Atomic::and_), is("or", Atomic::or_),
         is("xor", Atomic::xor_));
inline constexpr Axis op_add = axis(field::operation, false, true, false, is("add", Atomic::add));
inline constexpr Axis op_add_noftz =
    axis(field::operation, false, true, false, is("add.noftz", Atomic::add));
inline constexpr Axis op_minmax =
    axis(field::operation, false, true, false, is("min", Atomic::min), is("max", Atomic::max));
inline constexpr Axis op_minmax_noftz =
    axis(field::operation, false, true, false, is("min.noftz", Atomic::min),
         is("max.noftz", Atomic::max));
inline constexpr Axis op_incdec =
    axis(field::operation, false, true, false, is("inc", Atomic::inc), is("dec", Atomic::dec));
inline constexpr Axis op_exch =
    axis(field::operation, false, true, false, is("exch", Atomic::exch));
inline constexpr Axis op_cas = axis(field::operation, false, true, false, is("cas", Atomic::cas));
inline constexpr Axis vector =
    axis(field::vector, true, false, false, is("v2", 2), is("v4", 4), is("v8", 8));
inline constexpr Axis vector_always =
    axis(field::vector, false, false, false, is("v2", 2), is("v4", 4), is("v8", 8));
inline constexpr Axis vector_2_4 =
    axis(field::vector, false, false, false, is("v2", 2), is("v4", 4));
inline constexpr Axis space =
    axis(field::space, true, false, false, is("global", Space::global), is("shared", Space::shared),
         is("shared::cta", Space::shared), is("shared::cluster", Space::cluster_shared),
         is("local", Space::local), is("const", Space::constant), is("param", Space::param),
         is("param::entry", Space::entry_param), is("param::func", Space::param));
inline constexpr Axis space_store =
    axis(field::space, true, false, false, is("global", Space::global), is("shared", Space::shared),
         is("shared::cta", Space::shared), is("shared::cluster", Space::cluster_shared),
         is("local", Space::local), is("param", Space::param), is("param::func", Space::param));
inline constexpr Axis space_always =
    axis(field::space, false, false, false, is("global", Space::global),
         is("shared", Space::shared), is("shared::cta", Space::shared),
         is("shared::cluster", Space::cluster_shared), is("local", Space::local),
         is("const", Space::constant), is("param", Space::param), is("param::entry", Space::param));
inline constexpr Axis space_atomic =
    axis(field::space, true, false, false, is("global", Space::global), is("shared", Space::shared),
         is("shared::cta", Space::shared), is("shared::cluster", Space::cluster_shared));
inline constexpr Axis space_block =
    axis(field::space, true, false, false, is("shared", Space::shared),
         is("shared::cta", Space::shared));
inline constexpr Axis space_block_always =
    axis(field::space, false, false, false, is("shared", Space::shared),
         is("shared::cta", Space::shared));
inline constexpr Axis space_cluster_always =
    axis(field::space, false, false, false, is("shared::cluster", Space::cluster_shared));
inline constexpr Axis space_any_block_always =
    axis(field::space, false, false, false, is("shared::cta", Space::shared),
         is("shared::cluster", Space::cluster_shared));
inline constexpr Axis space_cluster =
    axis(field::space, true, false, false, is("shared::cluster", Space::cluster_shared));
inline constexpr Axis space_global =
    axis(field::space, false, false, false, is("global", Space::global));
inline constexpr Axis space_prefetch =
    axis(field::space, true, false, false, is("global", Space::global), is("local", Space::local));
inline constexpr Axis load_order =
    axis(field::order, true, false, false, is("weak", Order::weak),
         is("volatile", Order::volatile_), is("relaxed", Order::relaxed),
         is("acquire", Order::acquire), is("mmio.relaxed", Order::relaxed));
inline constexpr Axis store_order =
    axis(field::order, true, false, false, is("weak", Order::weak),
         is("volatile", Order::volatile_), is("relaxed", Order::relaxed),
         is("release", Order::release), is("mmio.relaxed", Order::relaxed));
inline constexpr Axis atomic_order = axis(
    field::order, true, false, false, is("relaxed", Order::relaxed), is("acquire", Order::acquire),
    is("release", Order::release), is("acq_rel", Order::acq_rel));
inline constexpr Axis fence_order =
    axis(field::order, true, false, false, is("sc", Order::sc), is("acq_rel", Order::acq_rel),
         is("acquire", Order::acquire), is("release", Order::release));
inline constexpr Axis arrive_order = axis(
    field::order, true, false, false, is("release", Order::release), is("relaxed", Order::relaxed));
inline constexpr Axis relaxed_order =
    axis(field::order, true, false, false, is("relaxed", Order::relaxed));
// Of an addition that gives nothing back: nobody acquires by it.
inline constexpr Axis reduce_order = axis(
    field::order, true, false, false, is("relaxed", Order::relaxed), is("release", Order::release));
inline constexpr Axis relaxed_cluster =
    axis(field::none, false, false, false, is("relaxed.cluster", 0));
inline constexpr Axis test_order = axis(
    field::order, true, false, false, is("acquire", Order::acquire), is("relaxed", Order::relaxed));
inline constexpr Axis wait_order =
    axis(field::order, true, false, false, is("acquire", Order::acquire));
inline constexpr Axis scope =
    axis(field::scope, true, false, false, is("cta", Scope::cta), is("cluster", Scope::cluster),
         is("gpu", Scope::gpu), is("sys", Scope::sys));
inline constexpr Axis scope_always =
    axis(field::scope, false, false, false, is("cta", Scope::cta), is("cluster", Scope::cluster),
         is("gpu", Scope::gpu), is("sys", Scope::sys));
inline constexpr Axis scope_cluster =
    axis(field::scope, true, false, false, is("cta", Scope::cta), is("cluster", Scope::cluster));
inline constexpr Axis membar_level = axis(field::scope, false, false, false, is("cta", Scope::cta),
                                          is("gl", Scope::gpu), is("sys", Scope::sys));
// Hints on caching: no effect on results.
inline constexpr Axis load_cache = axis(field::none, true, false, false, is("ca", 0), is("cg", 0),
                                        is("cs", 0), is("lu", 0), is("cv", 0));
inline constexpr Axis store_cache =
    axis(field::none, true, false, false, is("wb", 0), is("cg", 0), is("cs", 0), is("wt", 0));
// What nobody writes to meanwhile is global memory.
inline constexpr Axis read_only_cache =
    axis(field::none, true, false, false, is("ca", 0), is("cg", 0), is("cs", 0));
inline constexpr Axis read_only = axis(field::space, false, false, false, is("nc", Space::global));
inline constexpr Axis evict_l1 =
    axis(field::none, true, false, false, is("L1::evict_normal", 0), is("L1::evict_unchanged", 0),
         is("L1::evict_first", 0), is("L1::evict_last", 0), is("L1::no_allocate", 0));
inline constexpr Axis evict_l2 = axis(field::none, true, false, false, is("L2::evict_normal", 0),
                                      is("L2::evict_first", 0), is("L2::evict_last", 0));
inline constexpr Axis prefetch_l2 =
    axis(field::none, true, false, false, is("L2::64B", 0), is("L2::128B", 0), is("L2::256B", 0));
// With a cache policy as one more operand, behind those of the row.
inline constexpr Axis cache_hint =
    axis(field::cache_hint, true, false, false, is("L2::cache_hint", 1));
inline constexpr Axis prefetch_level =
    axis(field::none, false, false, false, is("L1", 0), is("L2", 0), is("L2::evict_last", 0),
         is("L2::evict_normal", 0));
inline constexpr Axis space_if_global =
    axis(field::space, true, false, false, is("global", Space::global));
inline constexpr Axis evict_normal =
    axis(field::none, false, false, false, is("L2::evict_normal", 0));
inline constexpr Axis level_l2 = axis(field::none, false, false, false, is("L2", 0));
inline constexpr Axis priority =
    axis(field::none, false, false, false, is("L2::evict_last", 0), is("L2::evict_normal", 0),
         is("L2::evict_first", 0), is("L2::evict_unchanged", 0));
inline constexpr Axis second_priority =
    axis(field::none, true, false, false, is("L2::evict_first", 0), is("L2::evict_unchanged", 0));
// Numbers of 2 and 4 bits: how many, and 8 more of signed ones.
inline constexpr Axis few_bits =
    axis(field::mode, false, true, false, is("u2", 2), is("u4", 4), is("s2", 10), is("s4", 12));
inline constexpr Axis with_b32 = axis(field::none, false, false, true, is("b32", 0));
inline constexpr Axis shared_from_global =
    axis(field::none, false, false, false, is("shared.global", 0), is("shared::cta.global", 0));
inline constexpr Axis transactions =
    axis(field::none, false, false, false, is("mbarrier::complete_tx::bytes", 0));
inline constexpr Axis tensor_rank = axis(field::vector, false, false, false, is("1d", 1),
                                         is("2d", 2), is("3d", 3), is("4d", 4), is("5d", 5));
inline constexpr Axis any_shared_from_global = axis(
    field::none, false, false, false, is("shared::cluster.global", 0), is("shared::cta.global", 0));
inline constexpr Axis global_from_shared =
    axis(field::none, false, false, false, is("global.shared::cta", 0));
inline constexpr Axis tile_operation =
    axis(field::operation, false, true, false, is("add", Atomic::add), is("min", Atomic::min),
         is("max", Atomic::max), is("inc", Atomic::inc), is("dec", Atomic::dec),
         is("and", Atomic::and_), is("or", Atomic::or_), is("xor", Atomic::xor_));
inline constexpr Axis space_map =
    axis(field::space, true, false, false, is("global", Space::global),
         is("shared::cta", Space::shared));
inline constexpr Axis b1024 = axis(field::none, false, false, false, is("b1024", 0));
inline constexpr Axis l2_global = axis(field::none, false, false, false, is("L2.global", 0));
inline constexpr Axis tile_mode = axis(field::none, true, false, false, is("tile", 0));
// Columns of pixels, from tensors that have an axis of channels, some of pixels, and one of images.
inline constexpr Axis image_rank =
    axis(field::vector, false, false, false, is("3d", 3), is("4d", 4), is("5d", 5));
inline constexpr Axis im2col = axis(field::mode, false, false, false, is("im2col", 1));
inline constexpr Axis im2col_no_offs =
    axis(field::mode, false, false, false, is("im2col_no_offs", 1));
inline constexpr Axis bulk_group = axis(field::none, false, false, false, is("bulk_group", 0));
inline constexpr Axis to_several =
    axis(field::none, false, false, false, is("multicast::cluster", 0));
inline constexpr Axis weak = axis(field::none, true, false, false, is("weak", 0));
inline constexpr Axis proxy =
    axis(field::none, false, false, false, is("alias", 0), is("async.global", 0),
         is("async.shared::cta", 0), is("async.shared::cluster", 0), is("async", 0));
inline constexpr Axis uni = axis(field::none, true, false, false, is("uni", 0));
inline constexpr Axis aligned = axis(field::aligned, true, false, false, is("aligned", 1));
inline constexpr Axis cta = axis(field::none, true, false, false, is("cta", 0));
inline constexpr Axis predicate_op =
    axis(field::operation, false, true, false, is("and", Atomic::and_), is("or", Atomic::or_));

// Of memory of several devices: an order is written with its scope, or neither is.
inline constexpr Axis multicast_load =
    axis(field::none, true, false, false, is("weak", 0), is("relaxed.cta", 0),
         is("relaxed.cluster", 0), is("relaxed.gpu", 0), is("relaxed.sys", 0), is("acquire.cta", 0),
         is("acquire.cluster", 0), is("acquire.gpu", 0), is("acquire.sys", 0));
inline constexpr Axis multicast_store =
    axis(field::none, true, false, false, is("weak", 0), is("relaxed.cta", 0),
         is("relaxed.cluster", 0), is("relaxed.gpu", 0), is("relaxed.sys", 0), is("release.cta", 0),
         is("release.cluster", 0), is("release.gpu", 0), is("release.sys", 0));
inline constexpr Axis multicast_reduce =
    axis(field::none, true, false, false, is("relaxed.cta", 0), is("relaxed.cluster", 0),
         is("relaxed.gpu", 0), is("relaxed.sys", 0), is("release.cta", 0), is("release.cluster", 0),
         is("release.gpu", 0), is("release.sys", 0));
inline constexpr Axis sum_f32 = axis(field::none, true, false, false, is("acc::f32", 0));

// Textures and surfaces.
inline constexpr Axis geometry =
    axis(field::mode, false, true, false, is("1d", Geometry::d1), is("2d", Geometry::d2),
         is("3d", Geometry::d3), is("a1d", Geometry::a1), is("a2d", Geometry::a2),
         is("cube", Geometry::cube), is("acube", Geometry::acube));
inline constexpr Axis geometry_flat =
    axis(field::mode, false, true, false, is("1d", Geometry::d1), is("2d", Geometry::d2),
         is("3d", Geometry::d3), is("a1d", Geometry::a1), is("a2d", Geometry::a2));
inline constexpr Axis geometry_gather =
    axis(field::mode, false, true, false, is("2d", Geometry::d2), is("a2d", Geometry::a2),
         is("cube", Geometry::cube), is("acube", Geometry::acube));
inline constexpr Axis geometry_gather_flat =
    axis(field::mode, false, true, false, is("2d", Geometry::d2), is("a2d", Geometry::a2));
inline constexpr Axis fetch_v4 = axis(field::vector, false, true, false, is("v4", 4));
inline constexpr Axis fetch_v2 = axis(field::vector, false, true, false, is("v2", 2));
inline constexpr Axis component =
    axis(field::part, false, true, false, is("r", 0), is("g", 1), is("b", 2), is("a", 3));
inline constexpr Axis outside = axis(field::boolean, false, true, true, is("trap", Outside::trap),
                                     is("clamp", Outside::clamp), is("zero", Outside::zero));
inline constexpr Axis surface_add =
    axis(field::operation, false, true, false, is("add", Atomic::add));
inline constexpr Axis surface_minmax =
    axis(field::operation, false, true, false, is("min", Atomic::min), is("max", Atomic::max));
inline constexpr Axis surface_bits =
    axis(field::operation, false, true, false, is("and", Atomic::and_), is("or", Atomic::or_));
inline constexpr Axis query_level =
    axis(field::operation, false, true, false, is("width", Query::width),
         is("height", Query::height), is("depth", Query::depth));
inline constexpr Axis query_texture = axis(
    field::operation, false, true, false, is("width", Query::width), is("height", Query::height),
    is("depth", Query::depth), is("channel_data_type", Query::channel_data_type),
    is("channel_order", Query::channel_order), is("normalized_coords", Query::normalized_coords),
    is("array_size", Query::array_size), is("num_mipmap_levels", Query::num_mipmap_levels),
    is("num_samples", Query::num_samples));
inline constexpr Axis query_sampler =
    axis(field::operation, false, true, false, is("filter_mode", Query::filter_mode),
         is("addr_mode_0", Query::addr_mode_0), is("addr_mode_1", Query::addr_mode_1),
         is("addr_mode_2", Query::addr_mode_2),
         is("force_unnormalized_coords", Query::force_unnormalized_coords));
inline constexpr Axis query_surface = axis(
    field::operation, false, true, false, is("width", Query::width), is("height", Query::height),
    is("depth", Query::depth), is("channel_data_type", Query::channel_data_type),
    is("channel_order", Query::channel_order), is("array_size", Query::array_size),
    is("memory_layout", Query::memory_layout));

}  // namespace words
}  // namespace cupola::ptx
