// csrc/cpu/sanitizer/sanitizer.cpp - runs the checks on each memory access of an instruction.
#include "cpu/sanitizer/sanitizer.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <utility>

#include "cpu/interpreter/block.hpp"
#include "cpu/sanitizer/findings.hpp"
#include "platform/demangle.hpp"
#include "ptx/source_line.hpp"

namespace cupola::cpu::sanitizer {
namespace {

using interpreter::DecodedOp;
using interpreter::lanes;
using interpreter::Warp;
using Kind = Effect::Kind;

std::string bytes_text(std::uint64_t bytes, std::uint64_t address) {
    char text[80];
    std::snprintf(text, sizeof text, "%" PRIu64 " byte%s at 0x%" PRIx64, bytes,
                  bytes == 1 ? "" : "s", address);
    return text;
}

class Sanitizer final : public observe::Observer {
  public:
    std::shared_ptr<observe::GridObserver> launched(const Launch& launch) override {
        if (!launch.checks.watching() && !launch.order) return nullptr;
        return std::make_shared<GridChecks>(launch);
    }
    void faulted(const Launch& launch, const observe::FaultReport& report) override {
        const bool memory = report.kind == FaultKind::illegal_address ||
                            report.kind == FaultKind::misaligned_address;
        const std::string& kernel = launch.kernel->name();
        if (launch.checks.memory && memory &&
            is_news("memory " + kernel + " " + std::to_string(report.ptx_line)))
            write("memory: " + report.what,
                  {"kernel " + title(kernel) + ", " + report.line, report.thread});
    }
};

}  // namespace

GridChecks::GridChecks(const Launch& running)
    : launch(running),
      kernel(static_cast<const interpreter::KernelCode&>(*running.kernel)),
      stepped(interpreter::stepped_code(kernel)) {}

std::unique_ptr<observe::BlockObserver> GridChecks::of_block(interpreter::BlockState& block) {
    return std::make_unique<BlockChecks>(*this, block);
}

const std::string& GridChecks::place(std::uint32_t line) {
    const auto [at, fresh] = places_.try_emplace(line);
    if (fresh) at->second = ptx::source_line(kernel.source, line);
    if (at->second.empty()) at->second = std::to_string(line);
    return at->second;
}

std::string GridChecks::key(const char* check, std::uint32_t line, std::uint32_t other) {
    std::string first = place(line), second = other != 0 ? place(other) : std::string();
    if (second < first) std::swap(first, second);
    return std::string(check) + " " + kernel.name() + " " + first + " " + second;
}

BlockChecks::BlockChecks(GridChecks& grid, interpreter::BlockState& block)
    : grid_(grid), block_(block), clocks_(grid.versions) {}

void BlockChecks::begin(std::uint32_t x, std::uint32_t y, std::uint32_t z) {
    const Dim3 &all = grid_.launch.grid, &shape = grid_.launch.block;
    number_ = (z * all.y + y) * all.x + x;
    clocks_.begin(number_, shape.x * shape.y * shape.z);
    awaited_.begin(block_.warp_count);
    gone_.clear();
    for (Barrier& barrier : barriers_) barrier = {};
    // Shared memory counts as unwritten at the begin of each block.
    const std::uintptr_t first = block_.shared;
    allocated(first, block_.cluster_stride);
    grid_.unwritten.add(first, block_.shared_bytes);
    grid_.clusters.erase(first);
}

void BlockChecks::allocated(std::uintptr_t begin, std::uint64_t bytes) {
    grid_.races.forget(begin, bytes);
    for (auto* letters : {&grid_.letters, &grid_.copied})
        letters->erase(letters->lower_bound(begin), letters->lower_bound(begin + bytes));
}

void BlockChecks::unwritten(const Warp& w, const Op* ip, unsigned lane, const std::string& place) {
    if (!grid_.launch.checks.init || !is_news(grid_.key("init", ip->line))) return;
    write("init: " + place + " read, and never written since its columns were allocated",
          {"kernel " + title(grid_.kernel.name()) + ", " + block_.line_text(ip->line),
           thread_text(number_, thread(w, lane))});
}

void BlockChecks::other_lanes(const Warp& w, const Op* ip, unsigned lane, unsigned first) {
    if (!grid_.launch.checks.sync || !is_news(grid_.key("sync", ip->line))) return;
    write("sync: the address has lane " + std::to_string(lane) +
              " of tensor memory, and the warp has the lanes from " + std::to_string(first) +
              " on; a GPU uses those, and reports a fault if the code was compiled with -G",
          {"kernel " + title(grid_.kernel.name()) + ", " + block_.line_text(ip->line),
           thread_text(number_, thread(w, 0))});
}

unsigned BlockChecks::thread(const Warp& w, unsigned lane) const { return w.index * lanes + lane; }

const DecodedOp* BlockChecks::before(Warp& w, const DecodedOp* ip) {
    const Effect& effect = grid_.stepped->effect_at(ip);
    if (effect.kind == Kind::warp_operation || effect.kind == Kind::warp_barrier)
        check_members(w, ip, effect);
    if (awaited_.any(w)) check_registers(w, ip, effect);
    return ip;
}

void BlockChecks::after(Warp& w, const DecodedOp* ip, std::uint32_t mask) {
    const Effect& effect = grid_.stepped->effect_at(ip);
    if (effect.kind != Kind::none) look(w, ip, effect, mask);
    if (effect.step != Effect::Step::none) step_copies(w, ip, effect, mask);
}

void BlockChecks::look(const Warp& w, const DecodedOp* ip, const Effect& effect,
                       std::uint32_t mask) {
    // An asynchronous store is weak.
    const bool weak = effect.kind == Kind::store && effect.step == Effect::Step::access;
    const bool strong = !weak && (ip->flags & interpreter::flag::strong) != 0;
    switch (effect.kind) {
        case Kind::load:
        case Kind::store:
        case Kind::atomic: {
            const Touch how = effect.kind == Kind::load    ? Touch::read
                              : effect.kind == Kind::store ? Touch::write
                                                           : Touch::atomic;
            const unsigned count = effect.kind == Kind::atomic ? 1 : ip->count;
            each_lane_of(mask, [&](unsigned lane) {
                std::byte value[64];
                if (effect.kind == Kind::store)
                    for (unsigned k = 0; k < count; ++k)
                        std::copy_n(w.registers + ip->op[k] + lane * effect.bytes, effect.bytes,
                                    value + k * effect.bytes);
                touch_plain(w, ip, effect, lane, w.address[lane],
                            std::uint64_t{count} * effect.bytes, how, strong,
                            effect.kind == Kind::store ? value : nullptr);
            });
            break;
        }
        case Kind::fence:
            each_lane_of(mask, [&](unsigned lane) { clocks_.fence(thread(w, lane)); });
            break;
        case Kind::warp_barrier: {
            // Lanes that continue at once. The others wait, and are synchronized when they are
            // released.
            const std::uint32_t on = w.status == interpreter::Status::ready ? w.mask & mask : 0;
            const auto* named =
                reinterpret_cast<const std::uint32_t*>(w.registers + ip->op[effect.members]);
            for (std::uint32_t left = on; left != 0;) {
                std::uint32_t group = 0;
                each_lane_of(left, [&](unsigned lane) {
                    if (named[lane] == named[__builtin_ctz(left)]) group |= 1u << lane;
                });
                synchronised(w, group);
                left &= ~group;
            }
            break;
        }
        case Kind::cluster_arrive: {
            ReleaseClock& letter = grid_.clusters[block_.interpreter::Block::cluster].come;
            each_lane_of(mask,
                         [&](unsigned lane) { clocks_.leave(letter, thread(w, lane), true); });
            break;
        }
        case Kind::cluster_wait:
            cluster_passed(w, mask & ~w.arrived);  // the other lanes wait
            break;
        default:
            break;
    }
}

void BlockChecks::touch(const Warp& w, const DecodedOp* ip, unsigned lane, std::uint64_t address,
                        std::uint64_t bytes, Touch how) {
    const Effect& effect = grid_.stepped->effect_at(ip);
    if (how == Touch::signal) {
        if (grid_.launch.checks.race) {
            signal(w, lane, address, true, true, true);
            signal_copied(w, lane, effect, address);
        }
        grid_.unwritten.wrote(address, bytes);
        return;
    }
    const bool atomic =
        how == Touch::atomic || (effect.kind == Kind::bulk_atomic && how == Touch::write);
    // An asynchronous access is weak, whatever the flag, which also ends a loop that polls.
    touch_plain(w, ip, effect, lane, address, bytes, atomic ? Touch::atomic : how,
                atomic || ((ip->flags & interpreter::flag::strong) != 0 &&
                           effect.step != Effect::Step::access),
                nullptr);
}

void BlockChecks::touch_plain(const Warp& w, const DecodedOp* ip, const Effect& effect,
                              unsigned lane, std::uint64_t address, std::uint64_t bytes, Touch how,
                              bool strong, const std::byte* value) {
    if (block_.is_own(address)) return;
    if (grid_.launch.checks.init) {
        Unwritten& unwritten =
            block_.is_shared(address) ? grid_.unwritten : *grid_.launch.unwritten;
        const Unwritten::Place place =
            how == Touch::write ? Unwritten::Place{} : unwritten.first(address, bytes);
        if (place.address != 0 && is_news(grid_.key("init", ip->line)))
            write("init: " + bytes_text(bytes, address) + " read, and never written since " +
                      (block_.is_shared(address) ? "the block began" : "it was allocated"),
                  {"kernel " + title(grid_.kernel.name()) + ", " + block_.line_text(ip->line),
                   thread_text(number_, thread(w, lane)), place_text(place.address)});
        if (how != Touch::read) unwritten.wrote(address, bytes);
    }
    if (!grid_.launch.checks.race) return;
    const bool writes = how != Touch::read;
    Access now = access(ip, actor(w, lane, effect, writes), strong);
    // A plain read that begins a compare-and-swap loop never waits for a copy.
    now.atomic = how == Touch::atomic && effect.step != Effect::Step::access;
    const auto ordered = [this, me = now.actor](const Access& before) {
        return clocks_.knows(me, before.block, before.actor, before.time);
    };
    struct Met {
        const Access& now;
        std::uint64_t address, bytes;
        bool writes;
    } met{now, address, bytes, writes};
    const auto race = [this, &met](const Access& before, bool wrote) {
        report_race(met.now, met.writes, before, wrote, met.address, met.bytes);
    };
    // Acquire before the check, release after it: both orders include this access.
    if (strong) signal(w, lane, address, how != Touch::write, false, false);
    if (met.writes)
        grid_.races.write(address, bytes, value, now, ordered, race);
    else
        grid_.races.read(address, bytes, now, ordered, race);
    if (strong && met.writes)
        signal(w, lane, address, false, true, (ip->flags & interpreter::flag::release) != 0);
}

void BlockChecks::signal(const Warp& w, unsigned lane, std::uint64_t address, bool takes,
                         bool leaves, bool all) {
    const unsigned me = thread(w, lane);
    if (takes)
        if (const auto letter = grid_.letters.find(address); letter != grid_.letters.end())
            clocks_.take(letter->second, me);
    if (leaves) clocks_.leave(grid_.letters[address], me, all);
}

Access BlockChecks::access(const DecodedOp* ip, unsigned actor, bool strong) const {
    Access now;
    now.block = number_;
    now.actor = static_cast<std::uint16_t>(actor);
    now.made = true;
    now.strong = strong;
    now.time = clocks_.now(actor);
    now.line = ip->line;
    return now;
}

void BlockChecks::report_race(const Access& now, bool writes, const Access& before, bool wrote,
                              std::uint64_t address, std::uint64_t bytes) {
    if (!is_news(grid_.key("race", now.line, before.line))) return;
    const std::string memory = !block_.cell_text(address).empty() ? "tensor"
                               : block_.is_shared(address)        ? "shared"
                                                                  : "global";
    const bool unawaited = before.block == number_ && clocks_.is_pending(before.actor, before.time);
    const std::string kind = unawaited
                                 ? std::string(writes ? "write" : "read") + " before " +
                                       operation_text(before.actor) + " is complete"
                                 : std::string(writes && wrote ? "write-write" : "read-write");
    write("race: " + kind + " in " + memory + " memory, " + bytes_text(bytes, address),
          {"kernel " + title(grid_.kernel.name()), actor_text(now, writes ? " writes" : " reads"),
           actor_text(before, wrote ? " wrote" : " read"), place_text(address)});
}

std::string BlockChecks::actor_text(const Access& access, const char* verb) const {
    return thread_text(access.block, clocks_.thread_of(access.actor)) + verb +
           (clocks_.is_copy(access.actor)
                ? std::string(" by ") + operation_text(access.actor) + ", "
                : ", ") +
           block_.line_text(access.line);
}

const char* BlockChecks::operation_text(unsigned actor) const {
    return clocks_.is_of_tensor_cores(actor) ? "an asynchronous operation of the tensor cores"
                                             : "an asynchronous copy";
}

std::string BlockChecks::place_text(std::uint64_t address) const {
    if (std::string cell = block_.cell_text(address); !cell.empty()) return cell;
    if (!block_.is_shared(address)) return grid_.launch.memory->fault_location(address);
    const std::uint64_t offset = address - block_.interpreter::Block::cluster;
    return "byte " + std::to_string(offset % block_.cluster_stride) + " of a block's " +
           std::to_string(block_.shared_bytes) + " of shared memory";
}

std::string BlockChecks::thread_text(std::uint32_t block, unsigned thread) const {
    const Dim3& all = grid_.launch.grid;
    return block_.thread_text({block % all.x, block / all.x % all.y, block / all.x / all.y},
                              thread);
}

observe::Observer& observer() {
    static auto* const made = new Sanitizer;
    return *made;
}

}  // namespace cupola::cpu::sanitizer
