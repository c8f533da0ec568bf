// csrc/cpu/sanitizer/sync.cpp - barriers and warp operations: clock joins, and missing threads.
#include <cstdio>

#include "cpu/interpreter/block.hpp"
#include "cpu/sanitizer/findings.hpp"
#include "cpu/sanitizer/sanitizer.hpp"
#include "platform/demangle.hpp"

namespace cupola::cpu::sanitizer {
namespace {

using interpreter::DecodedOp;
using interpreter::Warp;

std::string mask_text(std::uint32_t mask) {
    char text[16];
    std::snprintf(text, sizeof text, "0x%08x", mask);
    return text;
}

}  // namespace

// Tested before the message is built, because the message searches the kernel's text.
bool BlockChecks::is_sync_news(const DecodedOp* ip) {
    return grid_.launch.checks.sync && is_news(grid_.key("sync", ip->line));
}

void BlockChecks::write_sync(const Warp& w, const DecodedOp* ip, std::uint32_t who,
                             const std::string& what, std::vector<std::string> more) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(who));
    more.insert(more.begin(),
                {"kernel " + title(grid_.kernel.name()) + ", " + block_.line_text(ip->line),
                 thread_text(number_, thread(w, lane))});
    write("sync: " + what, more);
}

// Lanes arrive at a barrier of the block. `before`: lanes of the warp that arrived earlier;
// `others`: arrived threads of the block.
void BlockChecks::arrive(const Warp& w, const DecodedOp* ip, std::uint32_t id, std::uint32_t count,
                         std::uint32_t before, std::uint32_t others) {
    Barrier& barrier = barriers_[id];
    if (barrier.by.empty()) barrier.by.resize(block_.warp_count);
    if (before != 0 && barrier.by[w.index] != ip && (ip->flags & interpreter::flag::aligned) &&
        (barrier.by[w.index]->flags & interpreter::flag::aligned) && is_sync_news(ip))
        write_sync(w, ip, w.mask,
                   "threads of a warp arrive at barrier " + std::to_string(id) +
                       " by different instructions",
                   {"other threads of the warp arrived by " +
                    block_.line_text(barrier.by[w.index]->line)});
    barrier.by[w.index] = ip;
    const auto here = static_cast<std::uint32_t>(__builtin_popcount(w.mask));
    if (count != 0 && others + here > count && is_sync_news(ip))
        write_sync(w, ip, w.mask,
                   std::to_string(others + here) + " threads arrive at barrier " +
                       std::to_string(id) + ", whose count is " + std::to_string(count));
    each_lane_of(w.mask, [&](unsigned lane) { clocks_.join(barrier.meeting, thread(w, lane)); });
}

// The barrier is complete. Threads that exited earlier count as arrived at a barrier of the whole
// block, as on a GPU.
void BlockChecks::complete(std::uint32_t id, std::uint32_t count) {
    Barrier& barrier = barriers_[id];
    JoinClock& meeting = barrier.meeting;
    if (count == 0) meeting.add(gone_);
    barrier.outcome = meeting.outcome();
    meeting.clear();
    barrier.by.clear();
}

void BlockChecks::pass(const Warp& w, std::uint32_t mask, std::int32_t barrier) {
    const Known& outcome = barriers_[barrier].outcome;
    each_lane_of(mask, [&](unsigned lane) { clocks_.learn(thread(w, lane), outcome); });
}

void BlockChecks::exited(const Warp& w) {
    each_lane_of(w.mask, [&](unsigned lane) { clocks_.join(gone_, thread(w, lane)); });
}

void BlockChecks::synchronised(const Warp& w, std::uint32_t mask) {
    JoinClock meeting;
    each_lane_of(mask, [&](unsigned lane) { clocks_.join(meeting, thread(w, lane)); });
    const Known outcome = meeting.outcome();
    each_lane_of(mask, [&](unsigned lane) { clocks_.learn(thread(w, lane), outcome); });
}

void BlockChecks::cluster_complete() {
    GridChecks::ClusterBarrier& barrier = grid_.clusters[block_.interpreter::Block::cluster];
    barrier.passed = barrier.come;
}

void BlockChecks::cluster_passed(const Warp& w, std::uint32_t mask) {
    const ReleaseClock& letter = grid_.clusters[block_.interpreter::Block::cluster].passed;
    each_lane_of(mask, [&](unsigned lane) { clocks_.take(letter, thread(w, lane)); });
}

// The mask of a warp operation must name its own lane, and no lane that has exited.
void BlockChecks::check_members(const Warp& w, const DecodedOp* ip, const Effect& effect) {
    if (!grid_.launch.checks.sync) return;
    const auto* named =
        reinterpret_cast<const std::uint32_t*>(w.registers + ip->op[effect.members]);
    each_lane_of(w.mask, [&](unsigned lane) {
        const std::uint32_t mask = named[lane];
        if ((mask >> lane & 1) != 0)
            check_gone(w, ip, 1u << lane, mask);
        else if (is_sync_news(ip))
            write_sync(w, ip, 1u << lane,
                       "the mask " + mask_text(mask) + " doesn't name the thread's own lane " +
                           std::to_string(lane));
    });
}

// Lanes that waited for each other at a warp barrier are released.
void BlockChecks::let_go(const Warp& w, const Waiting& waiting, std::uint32_t come) {
    synchronised(w, come);
    check_gone(w, waiting.code, waiting.mask, waiting.want);
}

void BlockChecks::check_gone(const Warp& w, const DecodedOp* ip, std::uint32_t who,
                             std::uint32_t named) {
    if (const std::uint32_t gone = named & ~w.live; gone != 0 && is_sync_news(ip))
        write_sync(w, ip, who,
                   "the mask " + mask_text(named) + " names lane " +
                       std::to_string(__builtin_ctz(gone)) + ", which has exited");
}

// Lanes are released although the lanes they wait for are waiting elsewhere.
void BlockChecks::forced(const Warp& w, const Waiting& waiting) {
    if (!is_sync_news(waiting.code)) return;
    const std::uint32_t missing = waiting.want & w.live & ~waiting.mask;
    std::vector<std::string> more;
    for (unsigned k = 0; k < w.waiting_count; ++k) {
        const Waiting& other = w.waiting[k];
        if (other.code == waiting.code || (other.mask & missing) == 0) continue;
        more.push_back("lanes " + mask_text(other.mask & missing) + " wait at " +
                       block_.line_text(other.code->line));
    }
    write_sync(w, waiting.code, waiting.mask,
               "lanes " + mask_text(waiting.mask) + " wait for lanes " + mask_text(missing) +
                   ", which do not arrive",
               more);
}

// Deadlock: threads wait at barriers that other threads never reach.
void BlockChecks::stuck() {
    for (unsigned n = 0; n < block_.warp_count; ++n) {
        const Warp& w = block_.warp(n);
        for (unsigned k = 0; k < w.waiting_count; ++k) {
            const Waiting& waiting = w.waiting[k];
            if (is_sync_news(waiting.code))
                write_sync(w, waiting.code, waiting.mask,
                           "deadlock: threads wait at a barrier that other threads never reach");
        }
    }
}

// The block ends while threads have arrived at a barrier that never completed.
void BlockChecks::end() {
    for (std::uint32_t id = 0; id < 16; ++id)
        for (unsigned n = 0; n < barriers_[id].by.size(); ++n)
            if (const DecodedOp* const by = barriers_[id].by[n]) {
                if (is_sync_news(by))
                    write_sync(
                        block_.warp(n), by, 1,
                        "the block ends before barrier " + std::to_string(id) + " is complete");
                return;
            }
}

}  // namespace cupola::cpu::sanitizer
