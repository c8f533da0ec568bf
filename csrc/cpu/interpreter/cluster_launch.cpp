// csrc/cpu/interpreter/cluster_launch.cpp - clusterlaunchcontrol: takes clusters that have not
// begun.
//
// A response has the coordinates of the cluster's first block in its first three words, and 1 in
// the last word; it is 0 where no cluster was left. GPUs have another format, which PTX hides.
#include <cstring>

#include "cpu/interpreter/async.hpp"
#include "cpu/interpreter/block.hpp"

namespace cupola::cpu::interpreter {
namespace {

struct Response {
    std::uint32_t first[3], canceled;
};
static_assert(sizeof(Response) == 16);

Response request(const BlockState& block) {
    const Launch& launch = block.launch();
    Response response{};
    const auto cluster = launch.cancel ? launch.cancel() : std::nullopt;
    if (!cluster) return response;
    block.cluster_state().locate(*cluster, response.first[0], response.first[1], response.first[2]);
    const std::uint32_t shape[] = {launch.cluster.x, launch.cluster.y, launch.cluster.z};
    for (unsigned n = 0; n < 3; ++n) response.first[n] *= shape[n];
    response.canceled = 1;
    return response;
}

// Writes to a block's shared memory, and reports the bytes. False: a fault has been noted.
bool answer(const DecodedOp* ip, Warp& w, unsigned lane, const Response& response, std::uint64_t to,
            std::uint64_t object) {
    std::byte* const memory =
        block_of(w).reach(w, ip, lane, to, sizeof response, 16, observe::Touch::write);
    if (!memory) return false;
    std::memcpy(memory, &response, sizeof response);
    return report_bytes(w, ip, lane, object, sizeof response);
}

[[gnu::noinline]] const DecodedOp* cancel(const DecodedOp* ip, Warp& w, std::byte* r) {
    BlockState& block = block_of(w);
    const auto* to = at<const std::uint64_t>(r, ip->op[1]);
    const auto* object = at<const std::uint64_t>(r, ip->op[2]);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        if (!fits(to[lane] - block.shared, sizeof(Response), block.shared_bytes) ||
            !fits(object[lane] - block.shared, 8, block.shared_bytes)) {
            block.fault(w, ip, Fault::Kind::illegal_address, lane,
                        "clusterlaunchcontrol.try_cancel needs shared memory of its own block",
                        to[lane]);
            return stop_faulted(w);
        }
        const Response response = request(block);
        const unsigned blocks = ip->imm != 0 ? block.cluster_state().size() : 1;
        for (unsigned n = 0; n < blocks; ++n) {
            const unsigned rank = ip->imm != 0 ? n : block.rank();
            if (!answer(ip, w, lane, response, place_in_block(block, rank, to[lane]),
                        place_in_block(block, rank, object[lane])))
                return stop_faulted(w);
        }
    }
    return ip + 1;
}

const DecodedOp* is_canceled(const DecodedOp* ip, Warp& w, std::byte* r) {
    const auto* response = at<const Response>(r, ip->op[1]);
    std::uint32_t& bits = bits_at(r, ip->op[0]);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        const std::uint32_t bit = std::uint32_t{1} << lane;
        bits = response[lane].canceled != 0 ? bits | bit : bits & ~bit;
    }
    return ip + 1;
}

const DecodedOp* first_block(const DecodedOp* ip, Warp& w, std::byte* r) {
    const auto* response = at<const Response>(r, ip->op[1]);
    auto* to = at<std::uint32_t>(r, ip->op[0]);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        to[lane] = ip->imm < 3 ? response[lane].first[ip->imm] : 0;
    }
    return ip + 1;
}

}  // namespace

const ClusterLaunchControl cluster_launch_control{
    &threaded<&cancel>,
    &threaded<&is_canceled>,
    &threaded<&first_block>,
};

}  // namespace cupola::cpu::interpreter
