// csrc/ptx/words.hpp - the vocabulary of the rows of the instruction table.
#pragma once

#include "ptx/form.hpp"

namespace cupola::ptx {
namespace words {

template <class... A>
constexpr ModifierSlots mods(const A&... a) {
    return {{&a...}, sizeof...(A)};
}
constexpr ModifierSlots mods() { return {{}, 0}; }
template <class... T>
constexpr Types types(T... t) {
    return {{t...}, sizeof...(T)};
}
constexpr Types types() { return {{}, 0}; }
template <class... S>
constexpr OperandConstraints operands(S... s) {
    return {{s...}, sizeof...(S)};
}
constexpr OperandConstraints operands() { return {{}, 0}; }

inline constexpr Type u8 = Type::u8, u16 = Type::u16, u32 = Type::u32, u64 = Type::u64,
                      s8 = Type::s8, s16 = Type::s16, s32 = Type::s32, s64 = Type::s64,
                      b8 = Type::b8, b16 = Type::b16, b32 = Type::b32, b64 = Type::b64,
                      b128 = Type::b128, f16 = Type::f16, f16x2 = Type::f16x2, bf16 = Type::bf16,
                      bf16x2 = Type::bf16x2, tf32 = Type::tf32, e4m3 = Type::e4m3,
                      e5m2 = Type::e5m2, e4m3x2 = Type::e4m3x2, e5m2x2 = Type::e5m2x2,
                      e2m1x2 = Type::e2m1x2, e2m3x2 = Type::e2m3x2, e3m2x2 = Type::e3m2x2,
                      ue8m0x2 = Type::ue8m0x2, s2f6x2 = Type::s2f6x2, e4m3x4 = Type::e4m3x4,
                      e5m2x4 = Type::e5m2x4, e2m3x4 = Type::e2m3x4, e3m2x4 = Type::e3m2x4,
                      f32x2 = Type::f32x2, u8x4 = Type::u8x4, s8x4 = Type::s8x4, f32 = Type::f32,
                      f64 = Type::f64, u16x2 = Type::u16x2, s16x2 = Type::s16x2, pred = Type::pred;

inline constexpr OperandConstraint d = OperandConstraint::d, dw = OperandConstraint::dw,
                                   d32 = OperandConstraint::d32, d8 = OperandConstraint::d8,
                                   dr = OperandConstraint::dr, p = OperandConstraint::p,
                                   pq = OperandConstraint::pq, dp = OperandConstraint::dp,
                                   a = OperandConstraint::a, aw = OperandConstraint::aw,
                                   a2 = OperandConstraint::a2, fetched = OperandConstraint::fetched,
                                   texel = OperandConstraint::texel,
                                   opaque = OperandConstraint::opaque,
                                   gradient = OperandConstraint::gradient,
                                   offsets = OperandConstraint::offsets,
                                   ar2 = OperandConstraint::ar2, w = OperandConstraint::w,
                                   h = OperandConstraint::h, np = OperandConstraint::np,
                                   imm = OperandConstraint::imm, number = OperandConstraint::number,
                                   m = OperandConstraint::m, dv = OperandConstraint::dv,
                                   av = OperandConstraint::av, dpack = OperandConstraint::dpack,
                                   apack = OperandConstraint::apack,
                                   address = OperandConstraint::address,
                                   label = OperandConstraint::label,
                                   targets = OperandConstraint::targets,
                                   cc_in = OperandConstraint::cc_in,
                                   cc_out = OperandConstraint::cc_out, fd = OperandConstraint::fd,
                                   fa = OperandConstraint::fa, fb = OperandConstraint::fb,
                                   fc = OperandConstraint::fc, md = OperandConstraint::md,
                                   sd = OperandConstraint::sd, sa = OperandConstraint::sa,
                                   sb = OperandConstraint::sb, vd = OperandConstraint::vd,
                                   va = OperandConstraint::va, tensor = OperandConstraint::tensor,
                                   shift = OperandConstraint::shift, tm = OperandConstraint::tm,
                                   td = OperandConstraint::td, ts = OperandConstraint::ts,
                                   columns = OperandConstraint::columns,
                                   mask = OperandConstraint::mask, tr = OperandConstraint::tr,
                                   halvings = OperandConstraint::halvings,
                                   few = OperandConstraint::few,
                                   four_a2 = OperandConstraint::four_a2;

template <class E>
constexpr ModifierSlot::Choice is(std::string_view text, E value) {
    return {text, static_cast<std::uint8_t>(value)};
}

// Modifier slots: a name, then field, optional, fixed, trailing, spellings.
inline constexpr ModifierSlot ftz = slot(field::ftz, true, true, false, is("ftz", 1));
inline constexpr ModifierSlot ftz_always = slot(field::ftz, false, true, false, is("ftz", 1));
inline constexpr ModifierSlot sat = slot(field::sat, true, true, false, is("sat", 1));
// sin and cos of a number of turns.
inline constexpr ModifierSlot turns =
    slot(field::ftz, false, true, false, is("ftz.2pi", 1), is("2pi.ftz", 1));
// Two factors that are powers of two.
inline constexpr ModifierSlot scaled =
    slot(field::none, false, true, false, is("scaled::n2::ue8m0", 0));
inline constexpr ModifierSlot sat_always = slot(field::sat, false, true, false, is("sat", 1));
inline constexpr ModifierSlot sat_implied = slot(field::none, true, false, false, is("sat", 0));
// In conversions: the largest finite number replaces an infinity.
inline constexpr ModifierSlot finite =
    slot(field::satfinite, true, true, false, is("satfinite", 1));
inline constexpr ModifierSlot finite_always =
    slot(field::satfinite, false, true, false, is("satfinite", 1));
inline constexpr ModifierSlot oob = slot(field::none, false, false, false, is("oob", 0));
inline constexpr ModifierSlot relu = slot(field::relu, true, true, false, is("relu", 1));
inline constexpr ModifierSlot nan = slot(field::nan, true, true, false, is("NaN", 1));
inline constexpr ModifierSlot magnitude = slot(field::magnitude, true, true, false, is("abs", 1));
inline constexpr ModifierSlot xorsign =
    slot(field::xorsign, true, true, false, is("xorsign.abs", 1));
inline constexpr ModifierSlot rnd =
    slot(field::round, true, true, false, is("rn", Round::rn), is("rz", Round::rz),
         is("rm", Round::rm), is("rp", Round::rp));
inline constexpr ModifierSlot rnd_always =
    slot(field::round, false, true, false, is("rn", Round::rn), is("rz", Round::rz),
         is("rm", Round::rm), is("rp", Round::rp));
inline constexpr ModifierSlot rn = slot(field::round, true, true, false, is("rn", Round::rn));
inline constexpr ModifierSlot rn_always =
    slot(field::round, false, true, false, is("rn", Round::rn));
inline constexpr ModifierSlot rna_always =
    slot(field::round, false, true, false, is("rna", Round::rna));
inline constexpr ModifierSlot rs_always =
    slot(field::round, false, true, false, is("rs", Round::rs));
inline constexpr ModifierSlot rz_rp =
    slot(field::round, false, true, false, is("rz", Round::rz), is("rp", Round::rp));
inline constexpr ModifierSlot rn_rz =
    slot(field::round, false, true, false, is("rn", Round::rn), is("rz", Round::rz));
inline constexpr ModifierSlot rnd_integral =
    slot(field::round, false, true, false, is("rni", Round::rni), is("rzi", Round::rzi),
         is("rmi", Round::rmi), is("rpi", Round::rpi));
inline constexpr ModifierSlot low_high =
    slot(field::part, false, true, false, is("lo", Part::lo), is("hi", Part::hi));
inline constexpr ModifierSlot compare_bits =
    slot(field::compare, false, true, false, is("eq", Compare::eq), is("ne", Compare::ne));
inline constexpr ModifierSlot compare_signed = slot(
    field::compare, false, true, false, is("eq", Compare::eq), is("ne", Compare::ne),
    is("lt", Compare::lt), is("le", Compare::le), is("gt", Compare::gt), is("ge", Compare::ge));
// lo, ls, hi, hs are synonyms of lt, le, gt, ge.
inline constexpr ModifierSlot compare_unsigned = slot(
    field::compare, false, true, false, is("eq", Compare::eq), is("ne", Compare::ne),
    is("lt", Compare::lt), is("le", Compare::le), is("gt", Compare::gt), is("ge", Compare::ge),
    is("lo", Compare::lt), is("ls", Compare::le), is("hi", Compare::gt), is("hs", Compare::ge));
inline constexpr ModifierSlot compare_float =
    slot(field::compare, false, true, false, is("eq", Compare::eq), is("ne", Compare::ne),
         is("lt", Compare::lt), is("le", Compare::le), is("gt", Compare::gt), is("ge", Compare::ge),
         is("equ", Compare::equ), is("neu", Compare::neu), is("ltu", Compare::ltu),
         is("leu", Compare::leu), is("gtu", Compare::gtu), is("geu", Compare::geu),
         is("num", Compare::num), is("nan", Compare::nan));
inline constexpr ModifierSlot boolean =
    slot(field::boolean, false, false, false, is("and", Boolean::and_), is("or", Boolean::or_),
         is("xor", Boolean::xor_));
inline constexpr ModifierSlot boolean_and_or =
    slot(field::boolean, false, false, false, is("and", Boolean::and_), is("or", Boolean::or_));
inline constexpr ModifierSlot test = slot(
    field::mode, false, true, false, is("finite", TestP::finite), is("infinite", TestP::infinite),
    is("number", TestP::number), is("notanumber", TestP::notanumber), is("normal", TestP::normal),
    is("subnormal", TestP::subnormal));
inline constexpr ModifierSlot permute =
    slot(field::mode, true, true, true, is("f4e", Permute::f4e), is("b4e", Permute::b4e),
         is("rc8", Permute::rc8), is("ecl", Permute::ecl), is("ecr", Permute::ecr),
         is("rc16", Permute::rc16));
inline constexpr ModifierSlot funnel =
    slot(field::mode, false, true, false, is("wrap", Mode::wrap), is("clamp", Mode::clamp));
inline constexpr ModifierSlot shiftamt = slot(field::mode, true, true, false, is("shiftamt", 1));
inline constexpr ModifierSlot bmsk_mode =
    slot(field::mode, false, true, false, is("clamp", Mode::clamp), is("wrap", Mode::wrap));
inline constexpr ModifierSlot shuffle =
    slot(field::mode, false, true, false, is("up", Mode::up), is("down", Mode::down),
         is("bfly", Mode::bfly), is("idx", Mode::idx));
inline constexpr ModifierSlot vote_mode =
    slot(field::mode, false, true, false, is("all", Mode::all), is("any", Mode::any),
         is("uni", Mode::uni));
inline constexpr ModifierSlot reduce_integer =
    slot(field::operation, false, true, false, is("add", Atomic::add), is("min", Atomic::min),
         is("max", Atomic::max));
inline constexpr ModifierSlot reduce_bits =
    slot(field::operation, false, true, false, is("and", Atomic::and_), is("or", Atomic::or_),
         is("xor", Atomic::xor_));
inline constexpr ModifierSlot op_add =
    slot(field::operation, false, true, false, is("add", Atomic::add));
inline constexpr ModifierSlot op_add_noftz =
    slot(field::operation, false, true, false, is("add.noftz", Atomic::add));
inline constexpr ModifierSlot op_minmax =
    slot(field::operation, false, true, false, is("min", Atomic::min), is("max", Atomic::max));
inline constexpr ModifierSlot op_minmax_noftz =
    slot(field::operation, false, true, false, is("min.noftz", Atomic::min),
         is("max.noftz", Atomic::max));
inline constexpr ModifierSlot op_incdec =
    slot(field::operation, false, true, false, is("inc", Atomic::inc), is("dec", Atomic::dec));
inline constexpr ModifierSlot op_exch =
    slot(field::operation, false, true, false, is("exch", Atomic::exch));
inline constexpr ModifierSlot op_cas =
    slot(field::operation, false, true, false, is("cas", Atomic::cas));
inline constexpr ModifierSlot vector =
    slot(field::vector, true, false, false, is("v2", 2), is("v4", 4), is("v8", 8));
inline constexpr ModifierSlot vector_always =
    slot(field::vector, false, false, false, is("v2", 2), is("v4", 4), is("v8", 8));
inline constexpr ModifierSlot vector_2_4 =
    slot(field::vector, false, false, false, is("v2", 2), is("v4", 4));
inline constexpr ModifierSlot space =
    slot(field::space, true, false, false, is("global", Space::global), is("shared", Space::shared),
         is("shared::cta", Space::shared), is("shared::cluster", Space::cluster_shared),
         is("local", Space::local), is("const", Space::constant), is("param", Space::param),
         is("param::entry", Space::entry_param), is("param::func", Space::param));
inline constexpr ModifierSlot space_store =
    slot(field::space, true, false, false, is("global", Space::global), is("shared", Space::shared),
         is("shared::cta", Space::shared), is("shared::cluster", Space::cluster_shared),
         is("local", Space::local), is("param", Space::param), is("param::func", Space::param));
inline constexpr ModifierSlot space_always =
    slot(field::space, false, false, false, is("global", Space::global),
         is("shared", Space::shared), is("shared::cta", Space::shared),
         is("shared::cluster", Space::cluster_shared), is("local", Space::local),
         is("const", Space::constant), is("param", Space::param), is("param::entry", Space::param));
inline constexpr ModifierSlot space_atomic =
    slot(field::space, true, false, false, is("global", Space::global), is("shared", Space::shared),
         is("shared::cta", Space::shared), is("shared::cluster", Space::cluster_shared));
inline constexpr ModifierSlot space_block =
    slot(field::space, true, false, false, is("shared", Space::shared),
         is("shared::cta", Space::shared));
inline constexpr ModifierSlot space_own_block =
    slot(field::space, true, false, false, is("shared::cta", Space::shared));
inline constexpr ModifierSlot space_block_always =
    slot(field::space, false, false, false, is("shared", Space::shared),
         is("shared::cta", Space::shared));
inline constexpr ModifierSlot space_cluster_always =
    slot(field::space, false, false, false, is("shared::cluster", Space::cluster_shared));
inline constexpr ModifierSlot space_any_block_always =
    slot(field::space, false, false, false, is("shared::cta", Space::shared),
         is("shared::cluster", Space::cluster_shared));
inline constexpr ModifierSlot space_cluster =
    slot(field::space, true, false, false, is("shared::cluster", Space::cluster_shared));
inline constexpr ModifierSlot space_global =
    slot(field::space, false, false, false, is("global", Space::global));
inline constexpr ModifierSlot space_prefetch =
    slot(field::space, true, false, false, is("global", Space::global), is("local", Space::local));
inline constexpr ModifierSlot load_order = slot(
    field::order, true, false, false, is("weak", Order::weak), is("volatile", Order::volatile_),
    is("relaxed", Order::relaxed), is("acquire", Order::acquire),
    is("mmio.relaxed", Order::relaxed), is("mmio.acquire", Order::acquire));
inline constexpr ModifierSlot store_order = slot(
    field::order, true, false, false, is("weak", Order::weak), is("volatile", Order::volatile_),
    is("relaxed", Order::relaxed), is("release", Order::release),
    is("mmio.relaxed", Order::relaxed), is("mmio.release", Order::release));
inline constexpr ModifierSlot atomic_order = slot(
    field::order, true, false, false, is("relaxed", Order::relaxed), is("acquire", Order::acquire),
    is("release", Order::release), is("acq_rel", Order::acq_rel));
inline constexpr ModifierSlot fence_order =
    slot(field::order, true, false, false, is("sc", Order::sc), is("acq_rel", Order::acq_rel),
         is("acquire", Order::acquire), is("release", Order::release));
inline constexpr ModifierSlot arrive_order = slot(
    field::order, true, false, false, is("release", Order::release), is("relaxed", Order::relaxed));
inline constexpr ModifierSlot relaxed_order =
    slot(field::order, true, false, false, is("relaxed", Order::relaxed));
// An addition without a result cannot acquire.
inline constexpr ModifierSlot reduce_order = slot(
    field::order, true, false, false, is("relaxed", Order::relaxed), is("release", Order::release));
inline constexpr ModifierSlot relaxed_cluster =
    slot(field::none, false, false, false, is("relaxed.cluster", 0));
// A bulk copy or reduction whose accesses are relaxed in a scope. A copy then has the type b128.
inline constexpr ModifierSlot relaxed_always =
    slot(field::order, false, false, false, is("relaxed.cta", Order::relaxed),
         is("relaxed.cluster", Order::relaxed), is("relaxed.gpu", Order::relaxed),
         is("relaxed.sys", Order::relaxed));
inline constexpr ModifierSlot relaxed_copy =
    slot(field::order, true, false, false, is("relaxed.cta", Order::relaxed),
         is("relaxed.cluster", Order::relaxed), is("relaxed.gpu", Order::relaxed),
         is("relaxed.sys", Order::relaxed));
inline constexpr ModifierSlot relaxed_in_cluster =
    slot(field::order, true, false, false, is("relaxed.cta", Order::relaxed),
         is("relaxed.cluster", Order::relaxed));
inline constexpr ModifierSlot as_b128 = slot(field::none, false, false, true, is("b128", 0));
inline constexpr ModifierSlot test_order = slot(
    field::order, true, false, false, is("acquire", Order::acquire), is("relaxed", Order::relaxed));
inline constexpr ModifierSlot wait_order =
    slot(field::order, true, false, false, is("acquire", Order::acquire));
// The layout of an mbarrier object, and the phase that a wait tests.
inline constexpr ModifierSlot barrier_layout =
    slot(field::mode, false, false, false, is("layout::v0", 0), is("layout::v1", 1));
inline constexpr ModifierSlot first_layout =
    slot(field::none, false, false, false, is("layout::v0", 0));
inline constexpr ModifierSlot primary_phase =
    slot(field::none, false, false, false, is("phase_type::primary", 0));
inline constexpr ModifierSlot conditional_phase =
    slot(field::none, false, false, false, is("phase_type::conditional", 0));
inline constexpr ModifierSlot scope =
    slot(field::scope, true, false, false, is("cta", Scope::cta), is("cluster", Scope::cluster),
         is("gpu", Scope::gpu), is("sys", Scope::sys));
inline constexpr ModifierSlot scope_always =
    slot(field::scope, false, false, false, is("cta", Scope::cta), is("cluster", Scope::cluster),
         is("gpu", Scope::gpu), is("sys", Scope::sys));
inline constexpr ModifierSlot scope_cluster =
    slot(field::scope, true, false, false, is("cta", Scope::cta), is("cluster", Scope::cluster));
inline constexpr ModifierSlot membar_level =
    slot(field::scope, false, false, false, is("cta", Scope::cta), is("gl", Scope::gpu),
         is("sys", Scope::sys));
// Cache hints have no effect on results.
inline constexpr ModifierSlot load_cache = slot(field::none, true, false, false, is("ca", 0),
                                                is("cg", 0), is("cs", 0), is("lu", 0), is("cv", 0));
inline constexpr ModifierSlot store_cache =
    slot(field::none, true, false, false, is("wb", 0), is("cg", 0), is("cs", 0), is("wt", 0));
// ld.global.nc reads global memory that no thread writes meanwhile.
inline constexpr ModifierSlot read_only_cache =
    slot(field::none, true, false, false, is("ca", 0), is("cg", 0), is("cs", 0));
inline constexpr ModifierSlot read_only =
    slot(field::space, false, false, false, is("nc", Space::global));
inline constexpr ModifierSlot evict_l1 =
    slot(field::none, true, false, false, is("L1::evict_normal", 0), is("L1::evict_unchanged", 0),
         is("L1::evict_first", 0), is("L1::evict_last", 0), is("L1::no_allocate", 0));
inline constexpr ModifierSlot evict_l2 =
    slot(field::none, true, false, false, is("L2::evict_normal", 0), is("L2::evict_first", 0),
         is("L2::evict_last", 0));
inline constexpr ModifierSlot prefetch_l2 =
    slot(field::none, true, false, false, is("L2::64B", 0), is("L2::128B", 0), is("L2::256B", 0));
// Adds a cache policy as an operand after those of the row.
inline constexpr ModifierSlot cache_hint =
    slot(field::cache_hint, true, false, false, is("L2::cache_hint", 1));
inline constexpr ModifierSlot prefetch_level =
    slot(field::none, false, false, false, is("L1", 0), is("L2", 0), is("L2::evict_last", 0),
         is("L2::evict_normal", 0));
inline constexpr ModifierSlot valid_sector =
    slot(field::none, false, false, false, is("L1::32B.valid_addr", 0));
inline constexpr ModifierSlot space_if_global =
    slot(field::space, true, false, false, is("global", Space::global));
inline constexpr ModifierSlot evict_normal =
    slot(field::none, false, false, false, is("L2::evict_normal", 0));
inline constexpr ModifierSlot level_l2 = slot(field::none, false, false, false, is("L2", 0));
inline constexpr ModifierSlot priority =
    slot(field::none, false, false, false, is("L2::evict_last", 0), is("L2::evict_normal", 0),
         is("L2::evict_first", 0), is("L2::evict_unchanged", 0));
inline constexpr ModifierSlot second_priority =
    slot(field::none, true, false, false, is("L2::evict_first", 0), is("L2::evict_unchanged", 0));
// Numbers of 2 and 4 bits: the value is the width, plus 8 if they are signed.
inline constexpr ModifierSlot few_bits =
    slot(field::mode, false, true, false, is("u2", 2), is("u4", 4), is("s2", 10), is("s4", 12));
inline constexpr ModifierSlot with_b32 = slot(field::none, false, false, true, is("b32", 0));
inline constexpr ModifierSlot shared_from_global =
    slot(field::none, false, false, false, is("shared.global", 0), is("shared::cta.global", 0));
inline constexpr ModifierSlot transactions =
    slot(field::none, false, false, false, is("mbarrier::complete_tx::bytes", 0));
inline constexpr ModifierSlot tensor_rank =
    slot(field::vector, false, false, false, is("1d", 1), is("2d", 2), is("3d", 3), is("4d", 4),
         is("5d", 5));
inline constexpr ModifierSlot any_shared_from_global = slot(
    field::none, false, false, false, is("shared::cluster.global", 0), is("shared::cta.global", 0));
inline constexpr ModifierSlot cluster_from_global =
    slot(field::none, false, false, false, is("shared::cluster.global", 0));
inline constexpr ModifierSlot block_from_global =
    slot(field::none, false, false, false, is("shared::cta.global", 0));
inline constexpr ModifierSlot cluster_from_shared =
    slot(field::none, false, false, false, is("shared::cluster.shared::cta", 0));
inline constexpr ModifierSlot global_from_shared =
    slot(field::none, false, false, false, is("global.shared::cta", 0));
inline constexpr ModifierSlot tile_operation =
    slot(field::operation, false, true, false, is("add", Atomic::add), is("min", Atomic::min),
         is("max", Atomic::max), is("inc", Atomic::inc), is("dec", Atomic::dec),
         is("and", Atomic::and_), is("or", Atomic::or_), is("xor", Atomic::xor_));
inline constexpr ModifierSlot space_map =
    slot(field::space, true, false, false, is("global", Space::global),
         is("shared::cta", Space::shared));
inline constexpr ModifierSlot b1024 = slot(field::none, false, false, false, is("b1024", 0));
inline constexpr ModifierSlot l2_global =
    slot(field::none, false, false, false, is("L2.global", 0));
inline constexpr ModifierSlot tile_mode = slot(field::none, true, false, false, is("tile", 0));
// .im2col copies: the tensor has one axis of channels, one to three axes of pixels and one axis of
// images.
inline constexpr ModifierSlot image_rank =
    slot(field::vector, false, false, false, is("3d", 3), is("4d", 4), is("5d", 5));
inline constexpr ModifierSlot im2col =
    slot(field::mode, false, false, false, is("im2col", TensorMode::im2col));
inline constexpr ModifierSlot im2col_no_offs =
    slot(field::mode, false, false, false, is("im2col_no_offs", TensorMode::im2col));
inline constexpr ModifierSlot im2col_w =
    slot(field::mode, false, false, false, is("im2col::w", TensorMode::im2col_w));
inline constexpr ModifierSlot im2col_w_128 =
    slot(field::mode, false, false, false, is("im2col::w::128", TensorMode::im2col_w_128));
inline constexpr ModifierSlot im2col_wide =
    slot(field::mode, false, false, false, is("im2col::w", TensorMode::im2col_w),
         is("im2col::w::128", TensorMode::im2col_w_128));
// Four rows of a matrix, which need not be neighbours.
inline constexpr ModifierSlot matrix_rank = slot(field::vector, false, false, false, is("2d", 2));
inline constexpr ModifierSlot gather4 =
    slot(field::mode, false, false, false, is("tile::gather4", TensorMode::rows));
inline constexpr ModifierSlot scatter4 =
    slot(field::mode, false, false, false, is("tile::scatter4", TensorMode::rows));
// Whose mbarrier counts the bytes: of the destination's block, or of either block of its pair.
inline constexpr ModifierSlot signals_pair =
    slot(field::part, false, false, false, is("cta_group::1", 1), is("cta_group::2", 2));
inline constexpr ModifierSlot may_signal_pair =
    slot(field::part, true, false, false, is("cta_group::1", 1), is("cta_group::2", 2));
// Copies the bytes of each 16 whose bits are set. The mask follows the cache policy.
inline constexpr ModifierSlot byte_mask = slot(field::none, false, false, false, is("cp_mask", 0));
inline constexpr ModifierSlot hint_and_byte_mask =
    slot(field::none, false, false, false, is("L2::cache_hint.cp_mask", 0),
         is("cp_mask.L2::cache_hint", 0));
inline constexpr ModifierSlot ignore_oob =
    slot(field::none, false, false, false, is("ignore_oob", 0));
inline constexpr ModifierSlot to_whole_cluster =
    slot(field::none, false, false, false, is("multicast::cluster::all", 0));
inline constexpr ModifierSlot four = slot(field::vector, false, false, false, is("v4", 4));
inline constexpr ModifierSlot vector_4_8 =
    slot(field::vector, false, false, false, is("v4", 4), is("v8", 8));
inline constexpr ModifierSlot release_far =
    slot(field::none, false, false, false, is("release.gpu", 0), is("release.sys", 0),
         is("mmio.release.sys", 0));
inline constexpr ModifierSlot reduce_far =
    slot(field::none, false, false, false, is("relaxed.gpu", 0), is("relaxed.sys", 0),
         is("release.gpu", 0), is("release.sys", 0), is("mmio.release.sys", 0));
inline constexpr ModifierSlot bulk_group =
    slot(field::none, false, false, false, is("bulk_group", 0));
// To the blocks of the cluster whose bits are set in a mask of 16 bits.
inline constexpr ModifierSlot to_several =
    slot(field::none, false, false, false, is("multicast::cluster", 0),
         is("multicast::cluster::16b", 0));
inline constexpr ModifierSlot weak = slot(field::none, true, false, false, is("weak", 0));
inline constexpr ModifierSlot in_cluster = slot(field::none, false, false, false, is("cluster", 0));
inline constexpr ModifierSlot proxy =
    slot(field::none, false, false, false, is("alias", 0), is("async.global", 0),
         is("async.shared::cta", 0), is("async.shared::cluster", 0), is("async", 0));
// Fences of accesses through several proxies, in one direction.
inline constexpr ModifierSlot alias_one_way =
    slot(field::none, false, false, false, is("alias.acquire.sys", 0), is("alias.release.sys", 0));
inline constexpr ModifierSlot release_reads =
    slot(field::none, false, false, false,
         is("async::generic.release.sync_restrict::shared::cluster::read.cta", 0),
         is("async::generic.release.sync_restrict::shared::cluster::read.cluster", 0));
inline constexpr ModifierSlot uni = slot(field::none, true, false, false, is("uni", 0));
inline constexpr ModifierSlot aligned = slot(field::aligned, true, false, false, is("aligned", 1));
inline constexpr ModifierSlot cta = slot(field::none, true, false, false, is("cta", 0));
inline constexpr ModifierSlot predicate_op =
    slot(field::operation, false, true, false, is("and", Atomic::and_), is("or", Atomic::or_));

// multimem: an order and its scope are written together, or both are absent.
inline constexpr ModifierSlot multicast_load =
    slot(field::none, true, false, false, is("weak", 0), is("relaxed.cta", 0),
         is("relaxed.cluster", 0), is("relaxed.gpu", 0), is("relaxed.sys", 0), is("acquire.cta", 0),
         is("acquire.cluster", 0), is("acquire.gpu", 0), is("acquire.sys", 0));
inline constexpr ModifierSlot multicast_store =
    slot(field::none, true, false, false, is("weak", 0), is("relaxed.cta", 0),
         is("relaxed.cluster", 0), is("relaxed.gpu", 0), is("relaxed.sys", 0), is("release.cta", 0),
         is("release.cluster", 0), is("release.gpu", 0), is("release.sys", 0));
inline constexpr ModifierSlot multicast_reduce =
    slot(field::none, true, false, false, is("relaxed.cta", 0), is("relaxed.cluster", 0),
         is("relaxed.gpu", 0), is("relaxed.sys", 0), is("release.cta", 0), is("release.cluster", 0),
         is("release.gpu", 0), is("release.sys", 0));
inline constexpr ModifierSlot sum_f16 = slot(field::none, true, false, false, is("acc::f16", 0));
inline constexpr ModifierSlot sum_f32 = slot(field::none, true, false, false, is("acc::f32", 0));

// Textures and surfaces.
inline constexpr ModifierSlot geometry =
    slot(field::mode, false, true, false, is("1d", Geometry::d1), is("2d", Geometry::d2),
         is("3d", Geometry::d3), is("a1d", Geometry::a1), is("a2d", Geometry::a2),
         is("cube", Geometry::cube), is("acube", Geometry::acube));
inline constexpr ModifierSlot geometry_flat =
    slot(field::mode, false, true, false, is("1d", Geometry::d1), is("2d", Geometry::d2),
         is("3d", Geometry::d3), is("a1d", Geometry::a1), is("a2d", Geometry::a2));
inline constexpr ModifierSlot geometry_gather =
    slot(field::mode, false, true, false, is("2d", Geometry::d2), is("a2d", Geometry::a2),
         is("cube", Geometry::cube), is("acube", Geometry::acube));
inline constexpr ModifierSlot geometry_gather_flat =
    slot(field::mode, false, true, false, is("2d", Geometry::d2), is("a2d", Geometry::a2));
inline constexpr ModifierSlot fetch_v4 = slot(field::vector, false, true, false, is("v4", 4));
inline constexpr ModifierSlot fetch_v2 = slot(field::vector, false, true, false, is("v2", 2));
inline constexpr ModifierSlot component =
    slot(field::part, false, true, false, is("r", 0), is("g", 1), is("b", 2), is("a", 3));
inline constexpr ModifierSlot outside =
    slot(field::boolean, false, true, true, is("trap", Outside::trap), is("clamp", Outside::clamp),
         is("zero", Outside::zero));
inline constexpr ModifierSlot surface_add =
    slot(field::operation, false, true, false, is("add", Atomic::add));
inline constexpr ModifierSlot surface_minmax =
    slot(field::operation, false, true, false, is("min", Atomic::min), is("max", Atomic::max));
inline constexpr ModifierSlot surface_bits =
    slot(field::operation, false, true, false, is("and", Atomic::and_), is("or", Atomic::or_));
inline constexpr ModifierSlot query_level =
    slot(field::operation, false, true, false, is("width", Query::width),
         is("height", Query::height), is("depth", Query::depth));
inline constexpr ModifierSlot query_texture = slot(
    field::operation, false, true, false, is("width", Query::width), is("height", Query::height),
    is("depth", Query::depth), is("channel_data_type", Query::channel_data_type),
    is("channel_order", Query::channel_order), is("normalized_coords", Query::normalized_coords),
    is("array_size", Query::array_size), is("num_mipmap_levels", Query::num_mipmap_levels),
    is("num_samples", Query::num_samples));
inline constexpr ModifierSlot query_sampler =
    slot(field::operation, false, true, false, is("filter_mode", Query::filter_mode),
         is("addr_mode_0", Query::addr_mode_0), is("addr_mode_1", Query::addr_mode_1),
         is("addr_mode_2", Query::addr_mode_2),
         is("force_unnormalized_coords", Query::force_unnormalized_coords));
inline constexpr ModifierSlot query_surface = slot(
    field::operation, false, true, false, is("width", Query::width), is("height", Query::height),
    is("depth", Query::depth), is("channel_data_type", Query::channel_data_type),
    is("channel_order", Query::channel_order), is("array_size", Query::array_size),
    is("memory_layout", Query::memory_layout));

}  // namespace words
}  // namespace cupola::ptx
