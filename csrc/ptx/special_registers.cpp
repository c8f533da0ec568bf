// csrc/ptx/special_registers.cpp - the names of special registers.
#include "ptx/special_registers.hpp"

namespace cupola::ptx {

namespace {

struct SpecialName {
    std::string_view name;
    Special special;
};
constexpr SpecialName specials[] = {
    {"%tid.x", Special::tid_x},
    {"%tid.y", Special::tid_y},
    {"%tid.z", Special::tid_z},
    {"%ntid.x", Special::ntid_x},
    {"%ntid.y", Special::ntid_y},
    {"%ntid.z", Special::ntid_z},
    {"%ctaid.x", Special::ctaid_x},
    {"%ctaid.y", Special::ctaid_y},
    {"%ctaid.z", Special::ctaid_z},
    {"%nctaid.x", Special::nctaid_x},
    {"%nctaid.y", Special::nctaid_y},
    {"%nctaid.z", Special::nctaid_z},
    {"%laneid", Special::laneid},
    {"%warpid", Special::warpid},
    {"%nwarpid", Special::nwarpid},
    {"%smid", Special::smid},
    {"%nsmid", Special::nsmid},
    {"%gridid", Special::gridid},
    {"%lanemask_eq", Special::lanemask_eq},
    {"%lanemask_le", Special::lanemask_le},
    {"%lanemask_lt", Special::lanemask_lt},
    {"%lanemask_ge", Special::lanemask_ge},
    {"%lanemask_gt", Special::lanemask_gt},
    {"%clock", Special::clock},
    {"%clock_hi", Special::clock_hi},
    {"%clock64", Special::clock64},
    {"%globaltimer", Special::globaltimer},
    {"%globaltimer_lo", Special::globaltimer_lo},
    {"%globaltimer_hi", Special::globaltimer_hi},
    {"%dynamic_smem_size", Special::dynamic_smem_size},
    {"%total_smem_size", Special::total_smem_size},
    {"%cluster_ctaid.x", Special::cluster_ctaid_x},
    {"%cluster_ctaid.y", Special::cluster_ctaid_y},
    {"%cluster_ctaid.z", Special::cluster_ctaid_z},
    {"%cluster_nctaid.x", Special::cluster_nctaid_x},
    {"%cluster_nctaid.y", Special::cluster_nctaid_y},
    {"%cluster_nctaid.z", Special::cluster_nctaid_z},
    {"%clusterid.x", Special::clusterid_x},
    {"%clusterid.y", Special::clusterid_y},
    {"%clusterid.z", Special::clusterid_z},
    {"%nclusterid.x", Special::nclusterid_x},
    {"%nclusterid.y", Special::nclusterid_y},
    {"%nclusterid.z", Special::nclusterid_z},
    {"%cluster_ctarank", Special::cluster_ctarank},
    {"%cluster_nctarank", Special::cluster_nctarank},
    {"%is_explicit_cluster", Special::is_explicit_cluster},
    {"%aggr_smem_size", Special::aggr_smem_size},
    {"%reserved_smem_offset_begin", Special::reserved_smem_offset_begin},
    {"%reserved_smem_offset_end", Special::reserved_smem_offset_end},
    {"%reserved_smem_offset_cap", Special::reserved_smem_offset_cap},
    {"%reserved_smem_offset_0", Special::reserved_smem_offset_0},
    {"%reserved_smem_offset_1", Special::reserved_smem_offset_1},
    {"%current_graph_exec", Special::current_graph_exec},
};

// %envreg0 to %envreg31; Special::count for another name.
Special environment_register(std::string_view name) {
    constexpr std::string_view prefix = "%envreg";
    if (name.substr(0, prefix.size()) != prefix) return Special::count;
    const std::string_view digits = name.substr(prefix.size());
    if (digits.empty() || digits.size() > 2 || (digits.size() == 2 && digits[0] == '0'))
        return Special::count;
    unsigned number = 0;
    for (const char c : digits) {
        if (c < '0' || c > '9') return Special::count;
        number = number * 10 + static_cast<unsigned>(c - '0');
    }
    if (number > 31) return Special::count;
    return static_cast<Special>(static_cast<unsigned>(Special::envreg0) + number);
}

// %pm0 to %pm7 have 32 bits, %pm0_64 to %pm7_64 have 64.
Special performance_register(std::string_view name) {
    if (name.size() < 4 || name.substr(0, 3) != "%pm" || name[3] < '0' || name[3] > '7')
        return Special::count;
    if (name.size() == 4) return Special::performance;
    return name.substr(4) == "_64" ? Special::performance64 : Special::count;
}

struct SpecialVector {
    std::string_view name;
    Special first;
};
constexpr SpecialVector special_vectors[] = {
    {"%tid", Special::tid_x},
    {"%ntid", Special::ntid_x},
    {"%ctaid", Special::ctaid_x},
    {"%nctaid", Special::nctaid_x},
    {"%clusterid", Special::clusterid_x},
    {"%nclusterid", Special::nclusterid_x},
    {"%cluster_ctaid", Special::cluster_ctaid_x},
    {"%cluster_nctaid", Special::cluster_nctaid_x},
};

// Element `n` of a special register that is a vector. The fourth element is always 0.
Operand element_of(Special first, unsigned n) {
    Operand o;
    o.kind = n < 3 ? Operand::Kind::special : Operand::Kind::integer;
    o.index = n < 3 ? static_cast<std::uint32_t>(first) + n : 0;
    return o;
}

}  // namespace

Special special_register(std::string_view name) {
    for (const auto& s : specials)
        if (s.name == name) return s.special;
    const Special environment = environment_register(name);
    return environment != Special::count ? environment : performance_register(name);
}

bool special_vector(Function& f, std::string_view name, Operand& o) {
    for (const auto& each : special_vectors) {
        if (each.name != name) continue;
        o.kind = Operand::Kind::vector;
        o.index = static_cast<std::uint32_t>(f.operands.size());
        o.count = 4;
        for (unsigned n = 0; n < 4; ++n) f.operands.push_back(element_of(each.first, n));
        return true;
    }
    return false;
}

bool special_element(std::string_view vector, unsigned element, Operand& o) {
    for (const auto& each : special_vectors) {
        if (each.name != vector) continue;
        o = element_of(each.first, element);
        return true;
    }
    return false;
}

}  // namespace cupola::ptx
