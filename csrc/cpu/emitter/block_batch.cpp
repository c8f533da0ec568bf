// csrc/cpu/emitter/block_batch.cpp - prints the path that whole blocks take as a function. Of each
// row of a block's threads, it first tests all that may differ, and then runs warp after warp.
#include "cpu/emitter/cpp_emitter.hpp"

namespace cupola::cpu::compiler {

using std::to_string;

namespace {
constexpr const char* end_sweep = " return stop_sweep(w, swept);";

std::string index_of(const Register& r) { return r.thread == 1 ? "y" : "z"; }
}  // namespace

// Scalars: the first and the last thread of a row tell the values of all its threads.
void CppEmitter::sweep_lines() {
    for (const Register& r : program_.registers)
        if (r.special && r.invariant_affine && r.thread >= 0)
            line("const auto l" + to_string(r.offset) + " = " +
                 (r.thread == 0 ? "stretch_of_threads<1>(threads);"
                                : "BlockAffine<std::uint32_t, 0>{" + index_of(r) + ", " +
                                      index_of(r) + ", true};"));
    for (const PathStep& each : program_.sweep) {
        const OpEffects& step = program_.steps[each.code];
        if (step.kind == Kind::load || step.kind == Kind::store) note_access(each.code);
        if (step.kind == Kind::branch) {
            const bool negate =
                (program_.kernel.code[each.code].flags & interpreter::flag::negate) != 0;
            line("if (" + input(step.accesses[0]) + ".bits " +
                 (negate == each.taken ? "!=" : "==") + " 0)" + end_sweep);
        }
        if (step.kind != Kind::lanes && step.kind != Kind::logic) continue;
        const Register* to = program_.at(step.accesses[0].offset);
        std::int64_t rise = 0;
        if (to && to->invariant_affine && !to->uniform)
            line(derived(each.code, "l" + to_string(to->offset)).text);
        if (!each.decided) continue;
        line("std::uint32_t " + to->name() + ";");
        if (step.kind == Kind::logic) {
            logic(each.code);
            continue;
        }
        const std::string a = line_of(step.accesses[2], rise), b = line_of(step.accesses[3], rise);
        line("if (!agree<" + row(step) + ">(" + to->name() + ", " + a + ", " + b + "))" +
             end_sweep);
    }
}

// Of each warp, what is not known by its place.
void CppEmitter::sweep_warp() {
    for (const PathStep& each : program_.sweep) {
        const OpEffects& step = program_.steps[each.code];
        const bool access = step.kind == Kind::load || step.kind == Kind::store;
        if (each.decided || (!access && step.kind != Kind::lanes && step.kind != Kind::logic))
            continue;
        bool needed = step.kind == Kind::store;
        for (const Access& to : step.accesses) {
            const Register* r = to.write ? program_.at(to.offset) : nullptr;
            if (!r || r->uniform || r->invariant_affine) continue;
            needed = true;
            line((r->bytes == 0 ? std::string("std::uint32_t ")
                                : "Lanes<" + to_string(r->bytes) + "> ") +
                 r->name() + ";");
        }
        if (!needed) continue;
        if (access) {
            memory(0, each.code);
            continue;
        }
        line("{");
        if (step.kind == Kind::lanes)
            lanes(each.code);
        else
            logic(each.code);
        line("}");
    }
}

void CppEmitter::sweep() {
    constexpr std::int64_t behind_first = interpreter::lanes / 2 - 1;  // lanes of a half
    line("struct Sweep { [[gnu::noinline]] static void run(Warp& w, const std::byte* r) {");
    line("constexpr std::uint32_t mask = all_lanes; (void)mask;");
    line("const std::uint32_t threads = w.block->shape[0];");
    constants([](const Register& r) { return is_of_block(r) && !r.of_x; });
    line("const std::uint32_t end = w.block->end_of_sweep;");
    line("for (std::uint32_t& x = w.block->index_of_block[0]; x != end; ++x) {");
    constants([](const Register& r) { return is_of_block(r) && r.of_x; });
    line("std::uint32_t swept = 0;");
    line("for (std::uint32_t z = 0; z < w.block->shape[2]; ++z)");
    line("for (std::uint32_t y = 0; y < w.block->shape[1]; ++y, swept += threads / lanes) {");
    sweeping_ = full_ = true;
    sweep_lines();
    for (const Group& g : groups_) {
        line("const Near all_" + g.name + " = near_all(w, " + to_string(g.slot) + ", " + g.line +
             ", " + to_string(g.begin) + ", " + to_string(g.end - g.begin - behind_first * g.step) +
             ", " + to_string(g.align) + ", " + (g.write ? "true" : "false") + ");");
        line("if (!all_" + g.name + ".holds)" + end_sweep);
    }
    line("for (std::uint32_t from = 0; from < threads; from += lanes) {");
    for (const Group& g : groups_) {
        line("const Near " + g.name + " = near_warp<" + to_string(g.step) + ">(all_" + g.name +
             ", from);");
    }
    sweep_warp();
    line("} } } } };");
    line("if (!ip) { Sweep::run(w, r); return nullptr; }");
    sweeping_ = full_ = false;
    groups_.clear();
    group_of_.clear();
}

}  // namespace cupola::cpu::compiler
