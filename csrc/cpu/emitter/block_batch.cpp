// csrc/cpu/emitter/block_batch.cpp - the path that whole thread blocks take as a function.
//
// It cuts each row of a block's threads into pieces in which every assumption holds, and runs a
// piece without checks.
#include "cpu/emitter/block_batch.hpp"

#include <algorithm>

#include "cpu/analysis/passes.hpp"

namespace cupola::cpu::compiler {

using std::to_string;

namespace {
constexpr const char* end_batch = " return end_block_batch(w, threads_done + begin);";

// The variable of the addresses that a load may read.
std::string range_name(std::uint32_t n) { return "range" + to_string(n); }
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
    for (std::size_t k = 0; k < analysis_.batch_path.size(); ++k) {
        const PathStep& each = analysis_.batch_path[k];
        const OpEffects& op = analysis_.ops[each.op];
        if (each.scalar) continue;
        if (op.kind == Kind::load || op.kind == Kind::store) addresses_.add_to_group(each.op);
        const bool in_loop =
            std::any_of(analysis_.batch_loops.begin(), analysis_.batch_loops.end(),
                        [k](const PathLoop& loop) { return k >= loop.first && k < loop.end; });
        if (op.kind == Kind::branch && !in_loop) {
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

// Whether the statements of 32 threads compute the step's results.
bool BlockBatch::is_statement(const PathStep& step) const {
    const OpEffects& op = analysis_.ops[step.op];
    return !step.is_uniform &&
           (op.kind == Kind::load || op.kind == Kind::store || is_computation(op));
}

// A loop's registers outlive its scope.
void BlockBatch::declare_results() {
    std::set<std::string> declared;
    const auto declare = [&](const std::string& type, const std::string& name) {
        if (declared.insert(name).second) out_.emit(type + " " + name + ";");
    };
    for (const PathStep& each : analysis_.batch_path) {
        if (!is_statement(each)) continue;
        const OpEffects& op = analysis_.ops[each.op];
        for (const Access& to : op.accesses) {
            const Register* r = to.write ? analysis_.at(to.offset) : nullptr;
            if (!r || r->uniform || r->invariant_affine) continue;
            if (r->bytes == 0)
                declare("std::uint32_t", r->name());
            else if (each.scalar && op.kind == Kind::lanes)
                declare("BlockAffine<" + word_type(r->bytes) + ", " + to_string(r->step) + ">",
                        scalar_name(*r));
            else
                declare("Lanes<" + to_string(r->bytes) + ">", r->name());
        }
    }
    for (const PathLoop& loop : analysis_.batch_loops)
        for (const std::int32_t offset : loop.results)
            declare("Lanes<" + to_string(analysis_.at(offset)->bytes) + ">",
                    analysis_.at(offset)->name());
}

// Ends the batch, unless all threads have left the loop already.
std::string BlockBatch::end_unless_left() const {
    const bool diverges = std::any_of(open_.begin(), open_.end(),
                                      [](const PathLoop* each) { return each->diverges; });
    return diverges ? " { if (mask == 0) break;" + end_of_batch + " }" : end_of_batch;
}

// Emits a comparison of scalars that have one value in 32 threads.
void BlockBatch::emit_comparison(std::uint32_t n, const std::string& to) {
    const OpEffects& op = analysis_.ops[n];
    const auto value = [&](const Access& access) {
        return "first_value(" + addresses_.affine_operand(access).name + ")";
    };
    out_.emit("apply_uniform<" + row_type(op) + ">(" + to + ", " + value(op.accesses[2]) + ", " +
              value(op.accesses[3]) + ");");
}

// Emits an operation on scalars of 32 threads.
void BlockBatch::emit_scalar(std::uint32_t n) {
    const OpEffects& op = analysis_.ops[n];
    const Register& to = *analysis_.at(op.accesses[0].offset);
    if (to.bytes == 0) {
        emit_comparison(n, to.name());
    } else {
        const AffineResult made = addresses_.affine_result(n, scalar_name(to));
        out_.emit(made.text);
        if (made.widens || made.affine.proof != Proof::linear)
            out_.emit("if (__builtin_expect(!" + made.name + ".holds, 0))" + end_unless_left());
    }
    operands_.set_scalar(to.offset, true);
}

// Emits a load in a loop, or from an address that is a scalar, which is checked here.
void BlockBatch::emit_load(std::uint32_t n) {
    const OpEffects& op = analysis_.ops[n];
    const DecodedOp& c = analysis_.kernel.code[n];
    const unsigned element = ptx::bytes_of(op.origin.key.type);
    std::string address, offset = "0", values, after;
    std::int64_t step = 0;
    bool uniform = false;
    if (const AccessGroup* const group = addresses_.group_of(n)) {
        address = group->name, offset = to_string(c.imm - group->begin);
        step = group->step, uniform = group->uniform;
    } else {
        const AffineName from = addresses_.affine_operand(op.accesses[0]);
        const std::string bytes = to_string(element * c.count);
        address = "g" + out_.next_number(), step = from.step, uniform = step == 0;
        out_.emit("const auto " + address + " = warp_address<" + to_string(step) + ", " + bytes +
                  ">(" + range_name(n) + ", " + from.name + ", " + to_string(c.imm) + ", size);");
        out_.emit("if (__builtin_expect(!" + address + ".holds, 0))" + end_unless_left());
    }
    for (std::size_t k = 1; k < op.accesses.size(); ++k) {
        const Access& access = op.accesses[k];
        const Register* const r = analysis_.at(access.offset);
        const bool kept = r && operands_.masked(*r, false);
        const std::string to = r && !kept ? r->name() : out_.temporary(access.bytes);
        if (kept)
            after += " merge_masked<" + word_type(access.bytes) + ">(" + to + ", mask, " +
                     r->name() + ");";
        if (r) operands_.set_scalar(r->offset, false);
        values += ", " + to;
    }
    const bool first = operands_.has_first_lanes() && step != 0;
    out_.emit(std::string("load_") +
              (uniform ? "uniform<"
               : first ? "first<"
                       : "affine<") +
              word_type(element) + ", " + to_string(step) + ">(" + address + ", " + offset +
              (first && !uniform ? ", count" : "") + values + ");" + after);
}

void BlockBatch::emit_begin(const PathLoop& loop) {
    open_.push_back(&loop);
    if (loop.diverges) {
        for (const std::int32_t offset : loop.results)
            out_.emit(analysis_.at(offset)->name() + " = {};");
        for (const std::uint32_t n : loop.comparisons)
            out_.emit(analysis_.at(analysis_.ops[n].accesses[0].offset)->name() + " = 0;");
        operands_.set_path(Path::checked);
        out_.emit("{ const std::uint32_t entered = mask; { std::uint32_t mask = entered;");
    }
    // A short iteration takes less time than a branch that is predicted wrong.
    constexpr std::size_t short_steps = 20;
    const bool is_short = loop.end - loop.first <= short_steps;
    out_.emit("for (std::uint32_t left = max_batch_iterations;; --left) {");
    if (loop.diverges)
        out_.emit(std::string("if (") + (is_short ? "left % 4 == 0 && " : "") +
                  "mask == 0) break;");
    out_.emit("if (__builtin_expect(left == 0, 0))" + end_of_batch);
}

// Writes the scalars that differ between threads after the loop, for threads that leave it.
void BlockBatch::emit_leave(const std::string& leaving) {
    for (const std::int32_t offset : open_.back()->results) {
        const Register& r = *analysis_.at(offset);
        out_.emit("merge_masked<" + word_type(r.bytes) + ">(expand_affine(" + scalar_name(r) +
                  ", 0), " + leaving + ", " + r.name() + ");");
    }
    for (const std::uint32_t n : open_.back()->comparisons) {
        const std::string to = analysis_.at(analysis_.ops[n].accesses[0].offset)->name();
        out_.emit("{ std::uint32_t made;");
        emit_comparison(n, "made");
        out_.emit(to + " = (" + to + " & ~" + leaving + ") | (made & " + leaving + "); }");
    }
}

void BlockBatch::emit_branch(const PathStep& step) {
    const Access& predicate = analysis_.ops[step.op].accesses[0];
    const bool negate = (analysis_.kernel.code[step.op].flags & interpreter::flag::negate) != 0;
    const std::string others =
        std::string(negate != step.taken ? "~" : "") + operands_.input(predicate) + ".bits";
    const Register* const r = analysis_.at(predicate.offset);
    const bool together = !open_.back()->diverges || !r || r->constant || r->uniform ||
                          operands_.is_scalar(r->offset);
    if (!step.leaves) return out_.emit("if ((" + others + " & mask) != 0)" + end_of_batch);
    if (together) {
        out_.emit("if ((" + others + ") != 0) {");
        emit_leave("mask");
        return out_.emit("break; }");
    }
    const bool writes_vectors = !open_.back()->results.empty();
    out_.emit("{ const std::uint32_t leaving = " + others + " & mask;");
    if (writes_vectors) out_.emit("if (leaving != 0) {");
    emit_leave("leaving");
    if (writes_vectors) out_.emit("}");
    out_.emit("mask &= ~leaving; }");
}

void BlockBatch::emit_end(const PathLoop& loop) {
    out_.emit("}");
    open_.pop_back();
    for (const std::uint32_t r : analysis_.blocks[loop.header].sums)
        out_.emit("make_nans_canonical(" + std::string(loop.diverges ? "entered" : "mask") + ", " +
                  analysis_.registers[r].name() + ");");
    if (loop.diverges) out_.emit("} }");
    const bool diverges = std::any_of(open_.begin(), open_.end(),
                                      [](const PathLoop* each) { return each->diverges; });
    operands_.set_path(diverges ? Path::checked : Path::all_lanes);
    operands_.set_scalars(loop.scalars_after);
}

void BlockBatch::emit_step(std::size_t k) {
    const PathStep& each = analysis_.batch_path[k];
    const OpEffects& op = analysis_.ops[each.op];
    if (op.kind == Kind::count || op.kind == Kind::count_branch)
        return computations_.emit_count(each.op);
    if (op.kind == Kind::branch && !open_.empty()) return emit_branch(each);
    if (op.kind == Kind::atomic)
        return out_.emit("if (__builtin_expect(!" + accesses_.deferred_atomic(each.op) + ", 0))" +
                         end_of_batch);
    if (!is_statement(each) || each.at_exits) return;
    bool needed = op.kind == Kind::store;
    for (const Access& to : op.accesses) {
        const Register* r = to.write ? analysis_.at(to.offset) : nullptr;
        needed |= r && !r->uniform && !r->invariant_affine;
    }
    if (!needed) return;
    if (op.kind == Kind::load && (each.scalar || !open_.empty())) {
        out_.emit("{");
        emit_load(each.op);
        return out_.emit("}");
    }
    if (op.kind == Kind::load || op.kind == Kind::store) return accesses_.emit_access(0, each.op);
    out_.emit("{");
    if (each.scalar) {
        emit_scalar(each.op);
    } else {
        computations_.emit(each.op);
        for (const Access& to : op.accesses)
            if (to.write) operands_.set_scalar(to.offset, false);
    }
    out_.emit("}");
}

// Emits the statements whose results differ between groups of 32 threads.
void BlockBatch::emit_statements() {
    for (const AccessGroup& g : addresses_.groups())
        out_.emit("const CheckedAddress " + g.name + " = warp_address<" + to_string(g.step) +
                  ">(all_" + g.name + ", from);");
    out_.emit(operands_.has_first_lanes() ? "const std::uint32_t size = count; (void)size;"
                                          : "constexpr std::uint32_t size = lanes; (void)size;");
    declare_results();
    operands_.set_batch_statements(true);
    operands_.set_scalars({});
    const auto& loops = analysis_.batch_loops;
    for (std::size_t k = 0; k < analysis_.batch_path.size(); ++k) {
        for (const PathLoop& loop : loops)
            if (loop.first == k) emit_begin(loop);
        emit_step(k);
        while (!open_.empty() && open_.back()->end == k + 1) emit_end(*open_.back());
    }
    operands_.set_scalars({});
    operands_.set_batch_statements(false);
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
    for (const PathStep& each : analysis_.batch_path) {
        if (analysis_.ops[each.op].kind != Kind::load || !each.scalar) continue;
        out_.emit("const BatchRange " + range_name(each.op) + "(w, " +
                  to_string(analysis_.kernel.code[each.op].slot) + ");");
    }
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
