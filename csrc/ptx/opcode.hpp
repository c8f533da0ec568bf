// csrc/ptx/opcode.hpp - the instructions that other code distinguishes, as an enum.
#pragma once

#include <cstdint>

namespace cupola::ptx {

// PTX's names, with '_' for '.', and at the end of keywords and macros. Different spellings of an
// instruction have one opcode.
enum class Opcode : std::uint8_t {
    other,
    activemask,
    add,
    alloca_,
    and_,
    applypriority,
    atom,
    bar_arrive,
    bar_red,
    bar_sync,
    bar_warp_sync,
    barrier_arrive,
    barrier_cluster_arrive,
    barrier_cluster_wait,
    barrier_red,
    barrier_sync,
    bra,
    brkpt,
    brx_idx,
    call,
    cp_async_cg,
    cp_reduce_async_bulk,
    cvt,
    cvta,
    cvta_to,
    discard,
    div,
    elect_sync,
    exit,
    fence,
    fence_mbarrier_init,
    fence_proxy,
    fence_sync_restrict,
    fma,
    getctarank,
    griddepcontrol_launch_dependents,
    isspacep,
    ld,
    ldu,
    lop3,
    mad,
    mad_wide,
    mapa,
    match_all_sync,
    match_any_sync,
    max,
    mbarrier,
    membar,
    membar_proxy,
    min,
    mov,
    mul,
    mul_wide,
    multimem_st,
    nanosleep,
    or_,
    pmevent,
    prefetch,
    rcp,
    red,
    redux_sync,
    rem,
    ret,
    set,
    setmaxnreg,
    setp,
    shfl,
    shfl_sync,
    shl,
    shr,
    simd_video_2,  // vadd2, vset2, ...
    simd_video_4,
    sqrt,
    st,
    st_async,
    stackrestore,
    stacksave,
    sub,
    suq,
    tensormap_replace_global_address,  // in the order of interpreter::TensorControl::Field
    tensormap_replace_rank,
    tensormap_replace_box_dim,
    tensormap_replace_global_dim,
    tensormap_replace_global_stride,
    tensormap_replace_element_stride,
    tensormap_replace_elemtype,
    tensormap_replace_interleave_layout,
    tensormap_replace_swizzle_mode,
    tensormap_replace_fill_mode,
    trap,
    vote,
    vote_ballot_sync,
    vote_sync,
    xor_,
};

// The mnemonics that have an opcode, with their opcodes, sorted by mnemonic.
struct OpcodeOfMnemonic {
    const char* mnemonic;
    Opcode opcode;
};
inline constexpr OpcodeOfMnemonic opcodes[] = {
    {"activemask", Opcode::activemask},
    {"add", Opcode::add},
    {"alloca", Opcode::alloca_},
    {"and", Opcode::and_},
    {"applypriority", Opcode::applypriority},
    {"atom", Opcode::atom},
    {"bar.arrive", Opcode::bar_arrive},
    {"bar.cta.arrive", Opcode::bar_arrive},
    {"bar.cta.red", Opcode::bar_red},
    {"bar.cta.red.popc", Opcode::bar_red},
    {"bar.cta.sync", Opcode::bar_sync},
    {"bar.red", Opcode::bar_red},
    {"bar.red.popc", Opcode::bar_red},
    {"bar.sync", Opcode::bar_sync},
    {"bar.warp.sync", Opcode::bar_warp_sync},
    {"barrier.arrive", Opcode::barrier_arrive},
    {"barrier.cluster.arrive", Opcode::barrier_cluster_arrive},
    {"barrier.cluster.wait", Opcode::barrier_cluster_wait},
    {"barrier.cta.arrive", Opcode::barrier_arrive},
    {"barrier.cta.red", Opcode::barrier_red},
    {"barrier.cta.red.popc", Opcode::barrier_red},
    {"barrier.cta.sync", Opcode::barrier_sync},
    {"barrier.red", Opcode::barrier_red},
    {"barrier.red.popc", Opcode::barrier_red},
    {"barrier.sync", Opcode::barrier_sync},
    {"bra", Opcode::bra},
    {"brkpt", Opcode::brkpt},
    {"brx.idx", Opcode::brx_idx},
    {"call", Opcode::call},
    {"cp.async.cg", Opcode::cp_async_cg},
    {"cp.reduce.async.bulk.global.shared::cta.bulk_group", Opcode::cp_reduce_async_bulk},
    {"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes",
     Opcode::cp_reduce_async_bulk},
    {"cp.reduce.async.bulk.tensor", Opcode::cp_reduce_async_bulk},
    {"cvt", Opcode::cvt},
    {"cvta", Opcode::cvta},
    {"cvta.to", Opcode::cvta_to},
    {"discard", Opcode::discard},
    {"div", Opcode::div},
    {"elect.sync", Opcode::elect_sync},
    {"exit", Opcode::exit},
    {"fence", Opcode::fence},
    {"fence.acquire.sync_restrict::shared::cluster.cluster", Opcode::fence_sync_restrict},
    {"fence.mbarrier_init.release.cluster", Opcode::fence_mbarrier_init},
    {"fence.proxy", Opcode::fence_proxy},
    {"fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster",
     Opcode::fence_proxy},
    {"fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster", Opcode::fence_proxy},
    {"fence.proxy.tensormap::generic.acquire", Opcode::fence_proxy},
    {"fence.proxy.tensormap::generic.release", Opcode::fence_proxy},
    {"fence.release.sync_restrict::shared::cta.cluster", Opcode::fence_sync_restrict},
    {"fma", Opcode::fma},
    {"getctarank", Opcode::getctarank},
    {"griddepcontrol.launch_dependents", Opcode::griddepcontrol_launch_dependents},
    {"isspacep", Opcode::isspacep},
    {"ld", Opcode::ld},
    {"ld.global", Opcode::ld},
    {"ldu", Opcode::ldu},
    {"lop3", Opcode::lop3},
    {"mad", Opcode::mad},
    {"mad.wide", Opcode::mad_wide},
    {"mapa", Opcode::mapa},
    {"match.all.sync", Opcode::match_all_sync},
    {"match.any.sync", Opcode::match_any_sync},
    {"max", Opcode::max},
    {"mbarrier.arrive", Opcode::mbarrier},
    {"mbarrier.arrive.expect_tx", Opcode::mbarrier},
    {"mbarrier.arrive.noComplete", Opcode::mbarrier},
    {"mbarrier.arrive_drop", Opcode::mbarrier},
    {"mbarrier.arrive_drop.expect_tx", Opcode::mbarrier},
    {"mbarrier.arrive_drop.noComplete", Opcode::mbarrier},
    {"mbarrier.complete_tx", Opcode::mbarrier},
    {"mbarrier.expect_tx", Opcode::mbarrier},
    {"mbarrier.init", Opcode::mbarrier},
    {"mbarrier.inval", Opcode::mbarrier},
    {"mbarrier.pending_count", Opcode::mbarrier},
    {"mbarrier.test_wait", Opcode::mbarrier},
    {"mbarrier.test_wait.parity", Opcode::mbarrier},
    {"mbarrier.try_wait", Opcode::mbarrier},
    {"mbarrier.try_wait.parity", Opcode::mbarrier},
    {"membar", Opcode::membar},
    {"membar.proxy.alias", Opcode::membar_proxy},
    {"min", Opcode::min},
    {"mov", Opcode::mov},
    {"mul", Opcode::mul},
    {"mul.wide", Opcode::mul_wide},
    {"multimem.st", Opcode::multimem_st},
    {"nanosleep", Opcode::nanosleep},
    {"or", Opcode::or_},
    {"pmevent", Opcode::pmevent},
    {"pmevent.mask", Opcode::pmevent},
    {"prefetch", Opcode::prefetch},
    {"prefetch.const.tensormap", Opcode::prefetch},
    {"prefetch.param.tensormap", Opcode::prefetch},
    {"prefetch.tensormap", Opcode::prefetch},
    {"prefetchu.L1", Opcode::prefetch},
    {"rcp", Opcode::rcp},
    {"red", Opcode::red},
    {"redux.sync", Opcode::redux_sync},
    {"rem", Opcode::rem},
    {"ret", Opcode::ret},
    {"set", Opcode::set},
    {"setmaxnreg.dec.sync.aligned", Opcode::setmaxnreg},
    {"setmaxnreg.inc.sync.aligned", Opcode::setmaxnreg},
    {"setp", Opcode::setp},
    {"shfl", Opcode::shfl},
    {"shfl.sync", Opcode::shfl_sync},
    {"shl", Opcode::shl},
    {"shr", Opcode::shr},
    {"sqrt", Opcode::sqrt},
    {"st", Opcode::st},
    {"st.async", Opcode::st_async},
    {"stackrestore", Opcode::stackrestore},
    {"stacksave", Opcode::stacksave},
    {"sub", Opcode::sub},
    {"suq", Opcode::suq},
    {"tensormap.replace.tile.box_dim", Opcode::tensormap_replace_box_dim},
    {"tensormap.replace.tile.element_stride", Opcode::tensormap_replace_element_stride},
    {"tensormap.replace.tile.elemtype", Opcode::tensormap_replace_elemtype},
    {"tensormap.replace.tile.fill_mode", Opcode::tensormap_replace_fill_mode},
    {"tensormap.replace.tile.global_address", Opcode::tensormap_replace_global_address},
    {"tensormap.replace.tile.global_dim", Opcode::tensormap_replace_global_dim},
    {"tensormap.replace.tile.global_stride", Opcode::tensormap_replace_global_stride},
    {"tensormap.replace.tile.interleave_layout", Opcode::tensormap_replace_interleave_layout},
    {"tensormap.replace.tile.rank", Opcode::tensormap_replace_rank},
    {"tensormap.replace.tile.swizzle_mode", Opcode::tensormap_replace_swizzle_mode},
    {"trap", Opcode::trap},
    {"vabsdiff2", Opcode::simd_video_2},
    {"vabsdiff4", Opcode::simd_video_4},
    {"vadd2", Opcode::simd_video_2},
    {"vadd4", Opcode::simd_video_4},
    {"vavrg2", Opcode::simd_video_2},
    {"vavrg4", Opcode::simd_video_4},
    {"vmax2", Opcode::simd_video_2},
    {"vmax4", Opcode::simd_video_4},
    {"vmin2", Opcode::simd_video_2},
    {"vmin4", Opcode::simd_video_4},
    {"vote", Opcode::vote},
    {"vote.ballot", Opcode::vote},
    {"vote.ballot.sync", Opcode::vote_ballot_sync},
    {"vote.sync", Opcode::vote_sync},
    {"vote.sync.ballot", Opcode::vote_ballot_sync},
    {"vset2", Opcode::simd_video_2},
    {"vset4", Opcode::simd_video_4},
    {"vsub2", Opcode::simd_video_2},
    {"vsub4", Opcode::simd_video_4},
    {"xor", Opcode::xor_},
};

constexpr unsigned opcode_count = sizeof(opcodes) / sizeof(opcodes[0]);

// The number of the mnemonic's entry; opcode_count where it has no opcode. The built-in function is
// much faster at compile time than std::string_view is. Under -fsanitize=undefined GCC 12 compares
// no address at compile time, so this is no pointer.
constexpr unsigned find_opcode(const char* mnemonic) {
    unsigned first = 0, last = opcode_count;
    while (first < last) {
        const unsigned middle = (first + last) / 2;
        const int order = __builtin_strcmp(mnemonic, opcodes[middle].mnemonic);
        if (order == 0) return middle;
        if (order < 0)
            last = middle;
        else
            first = middle + 1;
    }
    return opcode_count;
}

constexpr Opcode opcode_of(const char* mnemonic) {
    const unsigned found = find_opcode(mnemonic);
    return found < opcode_count ? opcodes[found].opcode : Opcode::other;
}

constexpr bool is_load(Opcode o) { return o == Opcode::ld || o == Opcode::ldu; }
constexpr bool is_atomic(Opcode o) { return o == Opcode::atom || o == Opcode::red; }

// Barriers of a block. bar is barrier.aligned.
constexpr bool is_bar(Opcode o) {
    return o == Opcode::bar_arrive || o == Opcode::bar_red || o == Opcode::bar_sync;
}
constexpr bool is_block_barrier(Opcode o) {
    return is_bar(o) || o == Opcode::barrier_arrive || o == Opcode::barrier_red ||
           o == Opcode::barrier_sync;
}

}  // namespace cupola::ptx
