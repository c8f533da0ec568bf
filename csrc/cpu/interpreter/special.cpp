// csrc/cpu/interpreter/special.cpp - writes special registers to a warp's register file.
#include <cstring>

#include "cpu/interpreter/block.hpp"

namespace cupola::cpu::interpreter {

// Whether a special register keeps its value for all blocks of a BlockState, and no code writes it.
// `of_one_warp`: the register file belongs to one warp; else all warps use it in turn.
bool special_lasts(unsigned special, bool of_one_warp, bool calls) {
    using S = ptx::Special;
    if (special >= static_cast<unsigned>(S::count)) switch (static_cast<Hidden>(special)) {
            case Hidden::shared_base:
            case Hidden::shared_window:
            case Hidden::parameter_base:
                return true;
            case Hidden::local_base:
                return of_one_warp;
            case Hidden::stack_pointer:
                return !calls;
            default:
                return false;
        }
    switch (static_cast<S>(special)) {
        case S::tid_x:
        case S::tid_y:
        case S::tid_z:
        case S::warpid:
            return of_one_warp;
        case S::ctaid_x:
        case S::ctaid_y:
        case S::ctaid_z:
        case S::clusterid_x:
        case S::clusterid_y:
        case S::clusterid_z:
            return false;
        default:
            return true;
    }
}

int index_dimension(unsigned special) {
    using S = ptx::Special;
    const auto first = static_cast<unsigned>(S::ctaid_x);
    static_assert(static_cast<unsigned>(S::ctaid_z) == first + 2);
    return special >= first && special < first + 3 ? static_cast<int>(special - first) : -1;
}

namespace {

void write_same(std::byte* to, std::uint32_t value) {
    using Four __attribute__((vector_size(16))) = std::uint32_t;
    const Four all = {value, value, value, value};
    for (unsigned k = 0; k < lanes / 4; ++k) std::memcpy(to + 16 * k, &all, 16);
}

// Skips the write if the value is that of the previous block. No instruction writes this register.
void write_index(std::byte* to, std::uint32_t value) {
    std::uint32_t before;
    std::memcpy(&before, to, sizeof before);
    if (before != value) write_same(to, value);
}

}  // namespace

void BlockState::write_specials(const Specials& specials, unsigned index, std::byte* file) {
    using S = ptx::Special;
    const Dim3 &b = launch_.block, &g = launch_.grid, &c = launch_.cluster;
    for (const auto& [special, offset] : specials) {
        const auto each = [&, to = offset](auto value) {
            using T = decltype(value(0u));
            for (unsigned i = 0; i < lanes; ++i) at<T>(file, to)[i] = value(i);
        };
        const auto uniform = [&, to = offset](std::uint32_t value) {
            write_same(file + to, value);
        };
        const unsigned first = index * lanes;
        if (special >= static_cast<unsigned>(S::count)) {
            switch (static_cast<Hidden>(special)) {
                case Hidden::shared_base:
                    each([&](unsigned) { return shared - shared_window; });
                    break;
                case Hidden::shared_window:
                    uniform(static_cast<std::uint32_t>(shared_window));
                    break;
                case Hidden::local_base:
                    each([&](unsigned i) { return local + (first + i) * local_bytes; });
                    break;
                case Hidden::parameter_base:
                    each([&](unsigned) { return std::uint64_t{parameters}; });
                    break;
                case Hidden::local_top:
                    uniform(kernel_.local_top);
                    break;
                case Hidden::stack_pointer:
                case Hidden::count:
                    uniform(0);
                    break;
            }
            continue;
        }
        switch (static_cast<S>(special)) {
            case S::tid_x:
                std::memcpy(at<std::uint32_t>(file, offset), threads_of_[index].x,
                            sizeof threads_of_[0].x);
                break;
            case S::tid_y:
                std::memcpy(at<std::uint32_t>(file, offset), threads_of_[index].y,
                            sizeof threads_of_[0].y);
                break;
            case S::tid_z:
                std::memcpy(at<std::uint32_t>(file, offset), threads_of_[index].z,
                            sizeof threads_of_[0].z);
                break;
            case S::ntid_x:
                uniform(b.x);
                break;
            case S::ntid_y:
                uniform(b.y);
                break;
            case S::ntid_z:
                uniform(b.z);
                break;
            case S::ctaid_x:
                write_index(file + offset, index_of_block[0]);
                break;
            case S::ctaid_y:
                write_index(file + offset, index_of_block[1]);
                break;
            case S::ctaid_z:
                write_index(file + offset, index_of_block[2]);
                break;
            case S::nctaid_x:
                uniform(g.x);
                break;
            case S::nctaid_y:
                uniform(g.y);
                break;
            case S::nctaid_z:
                uniform(g.z);
                break;
            case S::laneid:
                each([](unsigned i) { return std::uint32_t{i}; });
                break;
            case S::warpid:
                uniform(index);
                break;
            case S::nwarpid:
                uniform(warp_count);
                break;
            case S::nsmid:
                uniform(1);
                break;
            case S::gridid:
                each([&](unsigned) { return std::uint64_t{launch_.grid_id}; });
                break;
            case S::lanemask_eq:
                each([](unsigned i) { return 1u << i; });
                break;
            case S::lanemask_le:
                each([](unsigned i) { return (2u << i) - 1; });
                break;
            case S::lanemask_lt:
                each([](unsigned i) { return (1u << i) - 1; });
                break;
            case S::lanemask_ge:
                each([](unsigned i) { return ~((1u << i) - 1); });
                break;
            case S::lanemask_gt:
                each([](unsigned i) { return ~((2u << i) - 1); });
                break;
            case S::dynamic_smem_size:
                uniform(launch_.dynamic_shared);
                break;
            case S::total_smem_size:
                uniform(static_cast<std::uint32_t>(shared_bytes));
                break;
            case S::aggr_smem_size:
                uniform(static_cast<std::uint32_t>(shared_bytes));
                break;
            case S::current_graph_exec:
                each([this](unsigned) { return launch_.graph_exec; });
                break;
            case S::performance64:
                each([](unsigned) { return std::uint64_t{0}; });
                break;
            case S::cluster_ctaid_x:
                uniform(rank_ % c.x);
                break;
            case S::cluster_ctaid_y:
                uniform(rank_ / c.x % c.y);
                break;
            case S::cluster_ctaid_z:
                uniform(rank_ / c.x / c.y);
                break;
            case S::cluster_nctaid_x:
                uniform(c.x);
                break;
            case S::cluster_nctaid_y:
                uniform(c.y);
                break;
            case S::cluster_nctaid_z:
                uniform(c.z);
                break;
            case S::clusterid_x:
                uniform(cluster_.id().x);
                break;
            case S::clusterid_y:
                uniform(cluster_.id().y);
                break;
            case S::clusterid_z:
                uniform(cluster_.id().z);
                break;
            case S::nclusterid_x:
                uniform(g.x / c.x);
                break;
            case S::nclusterid_y:
                uniform(g.y / c.y);
                break;
            case S::nclusterid_z:
                uniform(g.z / c.z);
                break;
            case S::cluster_ctarank:
                uniform(rank_);
                break;
            case S::cluster_nctarank:
                uniform(cluster_.size());
                break;
            case S::is_explicit_cluster:
                bits_at(file, offset) = launch_.explicit_cluster ? all_lanes : 0;
                break;
            // The driver's flag for cooperative groups: the grid is a cooperative one.
            case S::envreg1:
                uniform(static_cast<std::uint32_t>(std::uint64_t{launch_.workspace.begin} >> 32));
                break;
            case S::envreg2:
                uniform(static_cast<std::uint32_t>(launch_.workspace.begin));
                break;
            default:
                uniform(0);
                break;  // smid is constant, because the block sees one multiprocessor
        }
    }
}

}  // namespace cupola::cpu::interpreter
