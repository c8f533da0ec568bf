// csrc/cpu/debugger/answer.cpp - answers requests about a stopped launch.
#include <algorithm>
#include <cstring>
#include <utility>

#include "cpu/debugger/session.hpp"
#include "cpu/interpreter/block.hpp"
#include "ptx/error.hpp"

namespace cupola::cpu::debugger {
namespace {

using interpreter::CallSite;
using interpreter::DecodedOp;
using interpreter::KernelCode;
using interpreter::lanes;
using interpreter::Status;
using interpreter::Warp;

std::string number(std::uint64_t n) { return std::to_string(n); }

template <class List, class F>
std::string list_of(const List& list, F text) {
    std::string out = "[";
    for (const auto& each : list) out += (out.size() > 1 ? "," : "") + text(each);
    return out + "]";
}

std::string triple(const Dim3& d) {
    return "[" + number(d.x) + "," + number(d.y) + "," + number(d.z) + "]";
}

// The registers and variables of the functions. Only the PTX text has their names.
std::string kernel_text(const KernelCode& kernel) {
    const ptx::Module module = ptx::parse(kernel.source);
    const auto variable = [](const ptx::Variable& v) {
        return "[" + quoted(v.name) + "," + number(v.offset) + "," + number(v.size) + "]";
    };
    const auto function = [&](const interpreter::FunctionCode& part) {
        std::string out =
            "{\"name\":" + quoted(part.name) + ",\"start\":" + number(part.start) + ",";
        std::string registers, frame, formals;
        for (const ptx::Function& f : module.functions) {
            if (!f.defined || f.name != part.name) continue;
            for (const ptx::RegisterName& r : f.register_names)
                for (std::uint32_t k = r.index; k < r.index + r.count; ++k) {
                    if (k >= part.registers.size() || part.registers[k] == 0) continue;
                    const ptx::Type type = f.registers[k];
                    registers += registers.empty() ? "[" : ",[";
                    registers += quoted(r.name) + "," + number(k - r.index) + "," +
                                 quoted(ptx::name_of(type)) + "," +
                                 number(static_cast<std::uint32_t>(part.registers[k])) + "," +
                                 number(type == ptx::Type::pred ? 0 : ptx::bytes_of(type)) + "]";
                }
            for (std::size_t n = 0; n < f.frame.size(); ++n) {
                std::string& list = f.entry && n < f.formals.size() ? formals : frame;
                list += (list.empty() ? "" : ",") + variable(f.frame[n]);
            }
        }
        return out + "\"registers\":[" + registers + "],\"frame\":[" + frame +
               "],\"parameters\":[" + formals + "]}";
    };
    const auto placed = [](const interpreter::PlacedVariable& v) {
        return "[" + quoted(v.name) + "," + (v.shared ? "\"shared\"" : "\"global\"") + "," +
               number(v.address) + "," + number(v.size) + "]";
    };
    return "{\"functions\":" + list_of(kernel.functions, function) +
           ",\"variables\":" + list_of(kernel.variables, placed) + "}";
}

std::string lines_text(const KernelCode& kernel) {
    std::string out;
    for (const DecodedOp& each : kernel.code)
        for (unsigned n = 0; n < 4; ++n) out += static_cast<char>(each.line >> 8 * n & 0xff);
    return out;
}

const DecodedOp* pc_of(const Warp& w, unsigned lane, const DecodedOp* code) {
    const std::uint32_t bit = 1u << lane;
    for (unsigned k = 0; k < w.ready_count; ++k)
        if (w.ready[k].mask & bit) return w.ready[k].pc;
    for (unsigned k = 0; k < w.waiting_count; ++k)
        if (w.waiting[k].mask & bit) return w.waiting[k].code;
    return w.registers && (w.resume.mask & bit) ? w.resume.pc : code;
}

struct Frame {
    const DecodedOp* pc;
    std::uint64_t base;  // the variable is in the thread's local memory
};

// Frames, the innermost frame first. A call returns to the operation after the call.
std::vector<Frame> frames_of(const Stopped& at, Warp& w, unsigned lane) {
    const KernelCode& kernel = at.grid.kernel;
    std::vector<Frame> frames;
    std::uint64_t base = 0;
    if (w.registers)
        base = interpreter::at<const std::uint32_t>(w.registers, kernel.stack_pointer)[lane];
    frames.push_back({pc_of(w, lane, at.grid.stepped->code.data()), base});
    if (kernel.call_depth == 0 || !w.returns || !w.registers) return frames;
    for (std::uint32_t depth = w.depth[lane]; depth-- > 0;) {
        const interpreter::Return& back = w.returns[lane * kernel.call_depth + depth];
        base -= back.frame;
        frames.push_back({back.pc - 1, base});
    }
    return frames;
}

std::string stack_text(const Stopped& at, Warp& w, unsigned lane) {
    return list_of(frames_of(at, w, lane), [&](const Frame& frame) {
        return "[" + number(at.grid.index_of(frame.pc)) + "," + number(frame.base) + "]";
    });
}

// A recursive call saves its caller's registers in the caller's frame.
const std::byte* saved_register(const Stopped& at, Warp& w, unsigned lane, const Frame& frame,
                                std::int32_t offset) {
    const auto index = static_cast<std::size_t>(frame.pc->imm);
    const bool calls = frame.pc->pseudo == interpreter::Pseudo::call ||
                       frame.pc->pseudo == interpreter::Pseudo::call_indirect;
    if (!calls || index >= at.grid.kernel.calls.size()) return nullptr;
    const CallSite& site = at.grid.kernel.calls[index];
    std::uint64_t saved = frame.base + site.save_at;
    for (const auto& [reg, bytes] : site.saved) {
        if (reg == offset) return at.block->local_of(w, lane) + saved;
        saved += bytes == 0 ? 1 : bytes;
    }
    return nullptr;
}

bool register_bytes(const Stopped& at, Warp& w, unsigned lane, std::uint64_t number_of_frame,
                    std::uint64_t offset, std::uint64_t bytes, std::string& out) {
    const std::uint64_t all = at.grid.kernel.file_bytes;
    const std::uint64_t used = bytes == 0 ? 4 : bytes * lanes;
    if (!w.registers || bytes > 16 || offset >= all || used > all - offset) return false;
    const auto place = static_cast<std::int32_t>(offset);
    const std::vector<Frame> frames = frames_of(at, w, lane);
    if (number_of_frame >= frames.size()) return false;
    if (number_of_frame != 0)
        if (const std::byte* saved = saved_register(at, w, lane, frames[number_of_frame], place)) {
            out.append(reinterpret_cast<const char*>(saved), bytes == 0 ? 1 : bytes);
            return true;
        }
    if (bytes == 0)
        out += static_cast<char>(interpreter::bits_at(w.registers, place) >> lane & 1);
    else
        out.append(reinterpret_cast<const char*>(w.registers + place + lane * bytes), bytes);
    return true;
}

bool memory_bytes(const Stopped& at, const Warp& w, unsigned lane, std::uint64_t address,
                  std::uint64_t bytes, std::string& out) {
    if (bytes > max_frame_bytes / 2) return false;
    for (std::uint64_t left = bytes; left != 0;) {
        const std::uintptr_t end = at.block->readable_until(w, lane, address);
        if (end <= address) return false;
        const std::uint64_t here = std::min<std::uint64_t>(left, end - address);
        out.append(reinterpret_cast<const char*>(address), here);
        address += here;
        left -= here;
    }
    return true;
}

std::string group_text(std::uint32_t mask, std::uint32_t op, const char* state) {
    return "[" + number(mask) + "," + number(op) + ",\"" + state + "\"]";
}

std::string warp_text(const Stopped& at, Warp& w) {
    std::string groups;
    const auto add = [&](std::uint32_t mask, const DecodedOp* pc, const char* state) {
        if (mask != 0)
            groups += (groups.empty() ? "" : ",") + group_text(mask, at.grid.index_of(pc), state);
    };
    if (&w == at.warp)
        add(w.mask, at.ip, "runs");
    else if (w.status == Status::yielded)
        add(w.registers ? w.resume.mask : w.live,
            w.registers ? w.resume.pc : at.grid.stepped->code.data(), "ready");
    if (w.registers && w.status != Status::done) {
        for (unsigned k = 0; k < w.ready_count; ++k) add(w.ready[k].mask, w.ready[k].pc, "ready");
        for (unsigned k = 0; k < w.waiting_count; ++k)
            add(w.waiting[k].mask, w.waiting[k].code,
                w.waiting[k].barrier >= 0 ? "barrier" : "lanes");
    }
    return "{\"live\":" + number(w.live) + ",\"groups\":[" + groups + "]}";
}

Outcome refuse(std::string& reply, std::string_view why) {
    reply = std::string("-").append(why);
    return Outcome::stay;
}

Outcome put(std::string& reply, std::string_view text) {
    reply += text;
    return Outcome::stay;
}

// Requests that need a stopped block.
Outcome inspect(const Stopped& at, const Request& request, std::string& reply) {
    const auto reader = [&](std::size_t count) { return numbers_of(request.rest, count); };
    const std::size_t count = request.word == "stack" ? 2 : request.word == "memory" ? 4 : 5;
    const auto n = reader(count);
    if (!n || (*n)[0] >= at.block->warp_count || (*n)[1] >= lanes)
        return refuse(reply, "expected " + number(count) + " numbers: a warp of the block, a lane");
    Warp& w = at.block->warp(static_cast<unsigned>((*n)[0]));
    const auto lane = static_cast<unsigned>((*n)[1]);
    bool done = true;
    if (request.word == "stack")
        reply += stack_text(at, w, lane);
    else if (request.word == "memory")
        done = memory_bytes(at, w, lane, (*n)[2], (*n)[3], reply);
    else
        done = register_bytes(at, w, lane, (*n)[2], (*n)[3], (*n)[4], reply);
    return done ? Outcome::stay : refuse(reply, "the thread cannot read that");
}

// step SCOPE into|over|leave WARP LANE
Outcome step(const Stopped& at, std::string_view text, std::string& reply) {
    const Request scope = request_of(text), way = request_of(scope.rest);
    const auto n = numbers_of(way.rest, 2);
    Step::Scope chosen = Step::Scope::none;
    if (scope.word == "lane") chosen = Step::Scope::lane;
    if (scope.word == "warp") chosen = Step::Scope::warp;
    if (scope.word == "block") chosen = Step::Scope::block;
    const bool into = way.word == "into", leave = way.word == "leave";
    const bool known = chosen != Step::Scope::none && (into || leave || way.word == "over");
    if (!known || !n || (*n)[0] >= at.block->warp_count || (*n)[1] >= lanes ||
        (at.block->warp(static_cast<unsigned>((*n)[0])).live >> (*n)[1] & 1) == 0)
        return refuse(reply, "expected lane, warp or block; into, over or leave; a running lane");
    at.grid.begin_step(chosen, into, leave, *at.block,
                       at.block->warp(static_cast<unsigned>((*n)[0])),
                       static_cast<unsigned>((*n)[1]), *at.warp);
    return Outcome::resume;
}

Outcome answer_checked(const Stopped& at, std::string_view payload, std::string& reply) {
    const Request request = request_of(payload);
    const std::size_t ops = at.grid.stepped->code.size();
    if (request.word == "text") return put(reply, at.grid.kernel.source);
    if (request.word == "lines") return put(reply, lines_text(at.grid.kernel));
    if (request.word == "kernel") return put(reply, kernel_text(at.grid.kernel));
    if (request.word == "statements") {
        auto statements = statements_of(request.rest, ops);
        if (!statements) return refuse(reply, "expected five bytes for each operation");
        at.grid.set_statements(std::move(*statements));
        return Outcome::stay;
    }
    if (request.word == "breakpoints") {
        auto breakpoints = breakpoints_of(request.rest, ops);
        if (!breakpoints) return refuse(reply, "expected lines of ID OP BLOCK THREAD");
        at.grid.set_breakpoints(std::move(*breakpoints));
        return Outcome::stay;
    }
    if (request.word == "continue") return Outcome::resume;
    if (request.word == "pass" && at.block) return Outcome::pass;
    if (request.word == "skip" && !at.block) return Outcome::skip;
    if (request.word == "end" && at.block) return Outcome::end;
    if (at.block && request.word == "step") return step(at, request.rest, reply);
    if (at.block &&
        (request.word == "stack" || request.word == "memory" || request.word == "register"))
        return inspect(at, request, reply);
    return refuse(reply, "no such request here");
}

}  // namespace

Outcome answer(const Stopped& at, std::string_view payload, std::string& reply) {
    reply = "+";
    try {
        return answer_checked(at, payload, reply);
    } catch (const ptx::Error& error) {
        return refuse(reply, error.what());
    } catch (const std::bad_alloc&) {
        return refuse(reply, "no memory for the answer");
    }
}

std::string launch_event(const GridStops& grid) {
    const Launch& launch = grid.launch;
    return "{\"event\":\"launch\",\"grid\":" + number(launch.grid_id) +
           ",\"kernel\":" + quoted(grid.kernel.name()) +
           ",\"code\":" + number(grid.stepped->number) + ",\"shape\":" + triple(launch.grid) +
           ",\"block\":" + triple(launch.block) + "}";
}

std::string stop_event(const Stopped& at, const Reason& why) {
    static constexpr const char* reasons[] = {"none", "breakpoint", "step", "pause"};
    interpreter::BlockState& block = *at.block;
    std::string warps;
    for (unsigned n = 0; n < block.warp_count; ++n)
        warps += (n != 0 ? "," : "") + warp_text(at, block.warp(n));
    return "{\"event\":\"stop\",\"grid\":" + number(at.grid.launch.grid_id) + ",\"reason\":\"" +
           reasons[static_cast<int>(why.kind)] +
           "\",\"breakpoints\":" + list_of(why.breakpoints, number) +
           ",\"lanes\":" + number(why.lanes) + ",\"block\":" +
           triple({block.index_of_block[0], block.index_of_block[1], block.index_of_block[2]}) +
           ",\"warp\":" + number(at.warp->index) + ",\"warps\":[" + warps + "],\"shared\":[" +
           number(block.shared) + "," + number(block.shared_bytes) + "],\"local\":[" +
           number(block.local) + "," + number(block.local_bytes) + "],\"parameters\":[" +
           number(block.parameters) + "," + number(block.parameter_bytes) + "]}";
}

}  // namespace cupola::cpu::debugger
