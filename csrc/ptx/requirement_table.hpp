// csrc/ptx/requirement_table.hpp - versions of PTX that brought targets, directives, special
// registers and modifiers. Those of instructions are in table/*.inc.
#pragma once

#include <cstdint>
#include <string_view>

namespace cupola::ptx {

// A statement of a newer text may mean something else, so no older version is written for a driver.
constexpr unsigned newest_version = 99;

struct Since {
    std::string_view name;
    unsigned version;  // 78 for 7.8
};

// Targets, from the table "Target" of the manual's section 11.1.2 and its release history.
inline constexpr Since targets_since[] = {
    {"sm_50", 40},   {"sm_52", 41},   {"sm_53", 42},   {"sm_60", 50},   {"sm_61", 50},
    {"sm_62", 50},   {"sm_70", 60},   {"sm_72", 61},   {"sm_75", 63},   {"sm_80", 70},
    {"sm_86", 71},   {"sm_87", 74},   {"sm_88", 90},   {"sm_89", 78},   {"sm_90", 78},
    {"sm_90a", 80},  {"sm_100", 86},  {"sm_100a", 86}, {"sm_100f", 88}, {"sm_101", 86},
    {"sm_101a", 86}, {"sm_101f", 88}, {"sm_103", 88},  {"sm_103a", 88}, {"sm_103f", 88},
    {"sm_110", 90},  {"sm_110a", 90}, {"sm_110f", 90}, {"sm_120", 87},  {"sm_120a", 87},
    {"sm_120f", 88}, {"sm_121", 88},  {"sm_121a", 88}, {"sm_121f", 88},
};

// Words that begin with a dot, outside of instructions: directives, types and state spaces.
inline constexpr Since directives_since[] = {
    {".version", 10},
    {".target", 10},
    {".address_size", 23},
    {".entry", 10},
    {".func", 10},
    {".alias", 63},
    {".extern", 10},
    {".visible", 10},
    {".weak", 31},
    {".common", 50},
    {".branchtargets", 21},
    {".calltargets", 21},
    {".callprototype", 21},
    {".maxnreg", 13},
    {".maxntid", 13},
    {".reqntid", 21},
    {".minnctapersm", 20},
    {".maxnctapersm", 13},
    {".noreturn", 64},
    {".reqnctapercluster", 78},
    {".explicitcluster", 78},
    {".maxclusterrank", 78},
    {".blocksareclusters", 90},
    {".section", 20},
    {".file", 10},
    {".loc", 10},
    {".attribute", 40},
    {".managed", 40},
    {".unified", 90},
    {".reg", 10},
    {".global", 10},
    {".const", 10},
    {".shared", 10},
    {".local", 10},
    {".param", 20},
    {".align", 10},
    {".ptr", 22},
    {".texref", 15},
    {".surfref", 15},
    {".samplerref", 15},
    {".v2", 10},
    {".v4", 10},
    {".b8", 10},
    {".b16", 10},
    {".b32", 10},
    {".b64", 10},
    {".b128", 83},
    {".u8", 10},
    {".u16", 10},
    {".u32", 10},
    {".u64", 10},
    {".s8", 10},
    {".s16", 10},
    {".s32", 10},
    {".s64", 10},
    {".f16", 10},
    {".f16x2", 42},
    {".f32", 10},
    {".f64", 10},
    {".pred", 10},
};

// The first words of the strings of .pragma.
inline constexpr Since pragmas_since[] = {
    {"nounroll", 20},
    {"used_bytes_mask", 83},
    {"enable_smem_spilling", 90},
    {"frequency", 90},
};

// Special registers, without their element.
inline constexpr Since specials_since[] = {
    {"%tid", 10},
    {"%ntid", 10},
    {"%ctaid", 10},
    {"%nctaid", 10},
    {"%laneid", 13},
    {"%warpid", 13},
    {"%nwarpid", 20},
    {"%smid", 13},
    {"%nsmid", 20},
    {"%gridid", 30},  // with 64 bits
    {"%lanemask_eq", 20},
    {"%lanemask_le", 20},
    {"%lanemask_lt", 20},
    {"%lanemask_ge", 20},
    {"%lanemask_gt", 20},
    {"%clock", 10},
    {"%clock_hi", 50},
    {"%clock64", 20},
    {"%globaltimer", 31},
    {"%globaltimer_lo", 31},
    {"%globaltimer_hi", 31},
    {"%dynamic_smem_size", 41},
    {"%total_smem_size", 41},
    {"%cluster_ctaid", 78},
    {"%cluster_nctaid", 78},
    {"%clusterid", 78},
    {"%nclusterid", 78},
    {"%cluster_ctarank", 78},
    {"%cluster_nctarank", 78},
    {"%is_explicit_cluster", 78},
    {"%aggr_smem_size", 81},
    {"%reserved_smem_offset_begin", 76},
    {"%reserved_smem_offset_end", 76},
    {"%reserved_smem_offset_cap", 76},
    {"%reserved_smem_offset_0", 76},
    {"%reserved_smem_offset_1", 76},
    {"%current_graph_exec", 80},
};

// Modifiers that came after the instructions that take them: the beginning of the opcode (empty for
// all instructions), the modifier, its version, and another modifier that the row is about.
struct ModifierSince {
    std::string_view beginning, word;
    unsigned version;
    std::string_view with = {};
};
inline constexpr ModifierSince modifiers_since[] = {
    {"", "cluster", 78},
    {"", "shared::cta", 78},
    {"", "shared::cluster", 78},
    {"", "param::entry", 83},
    {"", "param::func", 83},
    {"", "mmio", 82},
    {"ld", "mmio", 93, "acquire"},
    {"st.mmio", "mmio", 93, "release"},
    {"", "b128", 83},
    {"", "L1::evict_normal", 74},
    {"", "L1::evict_unchanged", 74},
    {"", "L1::evict_first", 74},
    {"", "L1::evict_last", 74},
    {"", "L1::no_allocate", 74},
    {"", "L2::cache_hint", 74},
    {"", "L2::64B", 74},
    {"", "L2::128B", 74},
    {"", "L2::256B", 74},
    {"ld", "L2::evict_first", 88},
    {"ld", "L2::evict_last", 88},
    {"ld", "L2::evict_normal", 88},
    {"st", "L2::evict_first", 88},
    {"st", "L2::evict_last", 88},
    {"st", "L2::evict_normal", 88},
    {"ld", "v8", 88},
    {"st", "v8", 88},
    {"ld", "relaxed", 60},
    {"ld", "acquire", 60},
    {"st", "relaxed", 60},
    {"st", "release", 60},
    {"ld", "weak", 60},
    {"st", "weak", 60},
    {"atom", "relaxed", 60},
    {"atom", "acquire", 60},
    {"atom", "release", 60},
    {"atom", "acq_rel", 60},
    {"atom", "cta", 50},
    {"atom", "gpu", 50},
    {"atom", "sys", 50},
    {"red", "relaxed", 60},
    {"red", "release", 60},
    {"", "b128", 84, "sys"},
    {"mbarrier", "release", 80},
    {"mbarrier", "acquire", 80},
    {"barrier.cluster", "release", 80},
    {"barrier.cluster", "relaxed", 80},
    {"barrier.cluster", "acquire", 80},
    {"fence.proxy", "async", 80},
    {"fence", "acquire", 86},
    {"fence", "release", 86},
    {"set.", "f16", 65},
    {"set.", "f16x2", 65},
    {"isspacep", "param", 77},
    {"cvta", "param", 77},
    {"prefetch", "L2::evict_last", 74},
    {"prefetch", "L2::evict_normal", 74},
    {"min", "relu", 80, "s32"},
    {"max", "relu", 80, "s32"},
    {"mbarrier.arrive", "relaxed", 86},
    {"mbarrier.test_wait", "relaxed", 86},
    {"mbarrier.try_wait", "relaxed", 86},
    {"multimem", "acc::f32", 82},
    {"cvt", "satfinite", 81},
    {"cp.async.bulk", "shared::cta.global", 86},
    {"cp.async.bulk", "b128", 93},
    {"cp.async.bulk", "weak", 93},
    {"cp.async.bulk", "relaxed", 93},
    {"cp.reduce.async.bulk", "relaxed", 93},
    {"multimem.cp", "weak", 93},
    {"multimem.cp", "relaxed", 93},
    {"", "multicast::cluster::16b", 94},
};

}  // namespace cupola::ptx
