// csrc/cpu/emitter/block_batch.cpp - the path that whole thread blocks take as a function.
//
// It cuts each row of a block's threads into pieces in which every assumption holds, and runs a
// piece without checks.
#include "cpu/emitter/block_batch.hpp"

#include "cpu/analysis/passes.hpp"

namespace cupola::cpu::compiler {

using std::to_string;

namespace {
constexpr const char* end_batch = " return end_block_batch(w, threads_done + begin);";

std::string index_of(const Register& r) { return r.tid_dimension == 1 ? "y" : "z"; }
}  // namespace

// Emits scalars: the first and the last thread of a piece determine the values of all its threads.
void BlockBatch::emit_piece_values() {
    for (const Register& r : analysis_.registers)
        if (r.special && r.invariant_affine && r.tid_dimension >= 0)
            out_.emit("const auto l" + to_string(r.offset) + " = " +
                      (r.tid_dimension == 0 ? "thread_index_affine<1>(begin, threads);"
                                            : "BlockAffine<std::uint32_t, 0>{" + index_of(r) +
                                                  ", " + index_of(r) + ", true};"));
    for (const PathStep& each : analysis_.batch_path) {
        const OpEffects& op = analysis_.ops[each.op];
        if (op.kind == Kind::load || op.kind == Kind::store) addresses_.add_to_group(each.op);
        if (op.kind == Kind::branch) {
            const bool negate =
                (analysis_.kernel.code[each.op].flags & interpreter::flag::negate) != 0;
            out_.emit("if (" + operands_.input(op.accesses[0]) + ".bits " +
                      (negate == each.taken ? "!=" : "==") + " 0)" +
                      (each.exits ? " continue;" : end_batch));
        }
        if (op.kind != Kind::lanes && op.kind != Kind::logic) continue;
        const Register* to = analysis_.at(op.accesses[0].offset);
        if (to && to->invariant_affine && !to->uniform)
            out_.emit(addresses_.affine_result(each.op, "l" + to_string(to->offset)).text);
        if (!each.is_uniform) continue;
        out_.emit("std::uint32_t " + to->name() + ";");
        if (op.kind == Kind::logic) {
            computations_.emit(each.op);
            continue;
        }
        const std::string a = addresses_.affine_operand(op.accesses[2]).name,
                          b = addresses_.affine_operand(op.accesses[3]).name;
        const std::string row = row_type(op) + (is_equality(op) ? ", true>(" : ", false>(");
        out_.emit("if (__builtin_expect(!compare_piece<" + row + to->name() + ", " + a + ", " + b +
                  "), 0)) { threads = compared_threads<" + row + "threads, " + a + ", " + b +
                  "); goto shorter; }");
    }
}

// Emits the statements whose results differ between groups of 32 threads.
void BlockBatch::emit_statements() {
    for (const AccessGroup& g : addresses_.groups())
        out_.emit("const CheckedAddress " + g.name + " = warp_address<" + to_string(g.step) +
                  ">(all_" + g.name + ", from);");
    std::set<std::int32_t> declared;
    for (const PathStep& each : analysis_.batch_path) {
        const OpEffects& op = analysis_.ops[each.op];
        const bool access = op.kind == Kind::load || op.kind == Kind::store;
        if (op.kind == Kind::count || op.kind == Kind::count_branch) {
            computations_.emit_count(each.op);
            continue;
        }
        if (op.kind == Kind::atomic) {
            out_.emit("if (__builtin_expect(!" + accesses_.deferred_atomic(each.op) +
                      ", 0)) return end_block_batch(w, threads_done + begin + from);");
            continue;
        }
        if (each.is_uniform || (!access && !is_computation(op))) continue;
        bool needed = op.kind == Kind::store;
        for (const Access& to : op.accesses) {
            const Register* r = to.write ? analysis_.at(to.offset) : nullptr;
            if (!r || r->uniform || r->invariant_affine) continue;
            needed = true;
            if (!declared.insert(r->offset).second) continue;
            out_.emit((r->bytes == 0 ? std::string("std::uint32_t ")
                                     : "Lanes<" + to_string(r->bytes) + "> ") +
                      r->name() + ";");
        }
        if (!needed) continue;
        if (access) {
            accesses_.emit_access(0, each.op);
            continue;
        }
        out_.emit("{");
        computations_.emit(each.op);
        out_.emit("}");
    }
}

void BlockBatch::emit() {
    if (analysis_.batch_path.empty()) return;
    // The number of lanes of a half warp after its first lane.
    constexpr std::int64_t lanes_after_first = interpreter::lanes / 2 - 1;
    out_.emit(
        "struct BlockBatch { [[gnu::noinline]] static void run(Warp& w, const std::byte* r) {");
    out_.emit("constexpr std::uint32_t mask = all_lanes; (void)mask;");
    out_.emit("const std::uint32_t row = w.block->shape[0], max_pieces = row / lanes + 4;");
    variables_.define_uniforms([](const Register& r) { return is_of_block(r) && !r.varies_in_x; });
    out_.emit("const std::uint32_t end = w.block->batch_end;");
    out_.emit("for (std::uint32_t& x = w.block->index_of_block[0]; x != end; ++x) {");
    variables_.define_uniforms([](const Register& r) { return is_of_block(r) && r.varies_in_x; });
    out_.emit("std::uint32_t threads_done = 0;");
    out_.emit("for (std::uint32_t z = 0; z < w.block->shape[2]; ++z)");
    out_.emit(
        "for (std::uint32_t y = 0; y < w.block->shape[1]; ++y, threads_done += row) {"
        "std::uint32_t pieces = 0;");
    out_.emit("for (std::uint32_t begin = 0, threads; begin != row; begin += threads) {");
    // Short pieces take more time than warps.
    out_.emit("threads = ++pieces > max_pieces ? 0 : row - begin;");
    out_.emit(std::string("shorter: if (__builtin_expect(threads == 0, 0))") + end_batch);
    operands_.set_block_batch(true);
    operands_.set_path(Path::all_lanes);
    emit_piece_values();
    for (const AccessGroup& g : addresses_.groups()) {
        out_.emit("const CheckedAddress all_" + g.name + " = check_block_affine(w, " +
                  to_string(g.slot) + ", " + g.affine + ", " + to_string(g.begin) + ", " +
                  to_string(g.end - g.begin - lanes_after_first * g.step) + ", " +
                  to_string(g.align) + ", " + (g.write ? "true" : "false") + ");");
        out_.emit("if (!all_" + g.name + ".holds)" + end_batch);
    }
    out_.emit("std::uint32_t from = 0;");
    out_.emit("for (; threads - from >= lanes; from += lanes) {");
    emit_statements();
    out_.emit("}");
    out_.emit("if (from != threads) { const std::uint32_t count = threads - from;");
    out_.emit("const std::uint32_t mask = (1u << count) - 1; (void)mask;");
    operands_.set_first_lanes(true);
    emit_statements();
    operands_.set_first_lanes(false);
    out_.emit("} } } } } };");
    out_.emit("if (!ip) { BlockBatch::run(w, r); return nullptr; }");
    operands_.set_block_batch(false);
    operands_.set_path(Path::unchecked);
    addresses_.clear_groups();
}

}  // namespace cupola::cpu::compiler
