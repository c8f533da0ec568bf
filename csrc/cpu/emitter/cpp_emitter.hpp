// csrc/cpu/emitter/cpp_emitter.hpp - a decoded kernel as a C++ function.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cpu/emitter/source.hpp"
#include "cpu/ir/kernel_analysis.hpp"

namespace cupola::cpu::compiler {

// Writes a kernel. What its functions include is csrc/cpu/emitted/emitted.hpp.
class CppEmitter {
  public:
    CppEmitter(const KernelAnalysis& program, std::string name)
        : program_(program), name_(std::move(name)) {}
    Source print();

  private:
    // cpp_emitter.cpp: the frame, and where control goes
    void check_size() const;
    void begin();
    void end();
    void in_one();
    std::string accesses() const;
    void variables();
    void declare(const Register& r);
    using Which = bool (*)(const Register& r);
    void constants(Which which);
    void declare_uniform(Which which);
    void enter();
    std::string alive(std::uint32_t b, const char* verb) const;
    void keep_constants();
    // Whether it is a variable that the register file has to have while a warp is left.
    static bool is_moved(const Register& r) {
        return !r.file && !r.constant && !r.special && !r.uniform;
    }
    static bool is_of_block(const Register& r) { return r.uniform && !r.constant && !r.of_warp; }
    static bool is_of_warp(const Register& r) { return r.of_warp; }
    void leave();
    void ways(const std::set<std::uint32_t>& entries);
    void block(std::uint32_t b);
    void body(std::uint32_t b);
    void transfer(std::uint32_t b, std::uint32_t n);
    void go(std::uint32_t b, std::uint32_t to, bool charged, std::uint32_t n);
    bool is_short(std::uint32_t b, std::uint32_t to) const;
    void around(std::uint32_t b, std::uint32_t to);
    std::int32_t loop_at(std::uint32_t b) const;
    std::int32_t loop_around(std::uint32_t b) const;
    std::string behind(std::uint32_t last, std::int32_t loop) const;
    std::string beyond(std::uint32_t b) const;
    bool may_turn(std::uint32_t b) const;
    std::string place(const char* label, std::uint32_t b) const;
    void away(std::uint32_t b);
    void elsewhere(const std::string& label);
    std::string leaving(std::uint32_t b);

    // function_splitting.cpp: stretches of blocks as functions of their own
    struct Part {
        std::uint32_t first = 0, last = 0;  // blocks
        bool has(std::uint32_t b) const { return b >= first && b <= last; }
    };
    void in_parts();
    void declare_parts(std::size_t count);
    std::string name_of_part(std::size_t number) const;
    std::string declared(std::size_t number) const;
    std::vector<Part> parts() const;
    std::uint32_t codes(Part part) const;
    void part(std::size_t number, const std::set<std::uint32_t>& entries);
    void find_here();
    std::set<std::int32_t> alive_at(const std::set<std::uint32_t>& blocks) const;
    // A loop that is in the part as a whole.
    bool is_head(std::uint32_t b) const {
        return program_.blocks[b].head && part_.has(b) && part_.has(program_.blocks[b].loop_end);
    }
    std::uint32_t end_of_loop(std::int64_t head) const {
        return program_.blocks[static_cast<std::uint32_t>(head)].loop_end;
    }
    // Whether the part has a variable for it.
    bool is_here(const Register& r) const { return !parts_ || here_.count(r.offset) != 0; }
    static bool is_framed(const Register& r) { return r.uniform && !r.constant && !r.file; }

    // access_check.cpp: lines of addresses, and the checks of accesses that have them
    void plan(std::uint32_t b);
    void invariant_affine_lines(std::uint32_t b);
    void invariant_affine_lines(std::set<std::int32_t>& needed);
    void hold_lines();
    struct Derived {
        std::string name = {}, text = {};
        Rise rise = {};
        bool widens = false;
    };
    Derived derived(std::uint32_t n, const std::string& name);
    void keep_needed_lines();
    std::string line_of(const Access& access, std::int64_t& step);
    void note_access(std::uint32_t n);
    void note_written(std::uint32_t n, const std::string& name, std::int64_t step);
    void check_groups(std::uint32_t b);

    // loop_batching.cpp
    std::int64_t question_of(std::uint32_t b) const;
    std::string rise_of(std::uint32_t b, std::int32_t offset);
    bool plan_rounds(std::uint32_t b);
    void begin_rounds();
    void end_rounds();
    void each_fetched(const std::function<void(const std::string&, const std::string&)>& use);
    bool passes() const;
    std::string next_round(std::uint32_t b) const;
    std::string rounds(std::uint32_t b) const;

    // block_batch.cpp
    void sweep();
    void sweep_lines();
    void sweep_warp();

    // statement.cpp: one DecodedOp each
    std::set<std::uint32_t> unread(std::uint32_t b) const;
    void statements(std::uint32_t b);
    void statement(std::uint32_t b, std::uint32_t n);
    void lanes(std::uint32_t n);
    void logic(std::uint32_t n);
    std::string parameter(const OpEffects& step, std::size_t k) const;
    void once(std::uint32_t n);
    void memory(std::uint32_t b, std::uint32_t n);
    bool is_held(const OpEffects& step) const;
    std::string places_of(const OpEffects& step) const;
    void begin_anew(const Register& r, const OpEffects& step);
    void atomic(std::uint32_t b, std::uint32_t n);
    void ballot(std::uint32_t b, std::uint32_t n);
    void shuffle(std::uint32_t b, std::uint32_t n);
    void barrier(std::uint32_t b, std::uint32_t n);
    void handler(std::uint32_t b, std::uint32_t n);
    std::string row(const OpEffects& step) const;
    std::string input(const Access& access);
    // Of results: whether they are masked, and what is to be done behind the statement.
    struct Output {
        bool guarded, masked = false;
        std::string after = {};
    };
    std::string output(const Access& access, Output& out);
    std::string bits_output(const Access& p, const Access* q, Output& out);
    bool guarded(const OpEffects& step) const { return step.guarded || partly_; }
    bool masked(const Register& r, bool guarded) const {
        return guarded || (r.live_across_blocks && !full_);
    }

    void line(const std::string& text) { text_ += "    " + text + "\n"; }
    std::string temporary(unsigned bytes);
    std::string copy(const Access& access, const std::string& operand);

    const KernelAnalysis& program_;
    const std::string name_;
    Source source_;
    std::string text_;  // of the function at hand
    std::uint32_t temporaries_ = 0, places_ = 0;
    // Of the block at hand: registers whose value has a line in a variable, and those that are
    // other than where the block began.
    struct Line {
        std::string name;
        std::int64_t step;
    };
    std::map<std::int32_t, Line> lines_;
    std::map<std::uint32_t, std::string> line_at_;  // of quotients, by DecodedOp
    std::set<std::int32_t> held_;  // registers whose lines are there for the whole function
    std::set<std::int32_t> written_;
    // Accesses whose addresses are one line and constants, with one check for all of them.
    struct Group {
        std::string line, name;
        bool uniform, shared, write;
        std::uint32_t slot;
        std::int64_t begin, end;  // offsets that are accessed
        std::int64_t align, step;
    };
    // Lines that are looked for where the block begins; statements for those made of them and for
    // checks, and what rounds to come have to look at beside (print_rounds.cpp).
    struct Base {
        std::string name;
        std::int32_t offset;
        std::string text;
    };
    std::vector<Base> bases_;
    std::vector<Derived> derived_;
    std::vector<std::string> checks_;
    std::string frame_;  // variables of the function, for what blocks keep
    std::string asked_;  // the lines that the loop's branch compares
    std::vector<Group> groups_;
    std::map<std::uint32_t, std::size_t> group_of_;  // by DecodedOp
    bool went_ = false, left_ = false;               // what is come to behind the block at hand
    bool parts_ = false;                             // what is printed is a kernel in parts
    Part part_;                                      // of these blocks; else all of them
    std::set<std::int32_t> here_, changed_;  // registers that the part has, and those it writes
    bool partly_ = false;                    // what is printed runs for a part of the running lanes
    bool sweeping_ = false;                  // what is printed runs for whole blocks
    bool alike_ = false;  // the block at hand is a loop whose rounds are looked at together
    bool full_ = false;   // what is printed runs where all lanes are active and the checks hold
};

std::string word_type(unsigned bytes);
std::string variable_type(unsigned bytes);
// Between a variable and the register file. Of predicates, which have no bytes: a bit for each
// lane.
std::string fill(const std::string& name, unsigned bytes, std::int32_t offset);
std::string spill(const std::string& name, unsigned bytes, std::int32_t offset);
std::string fill(const Register& r);
std::string spill(const Register& r);
std::string in_namespace(const std::string& text);

// A kernel as source, beside which others may be: its function is `name_of_kernel(n)`. Throws
// Unprintable.
Source source_of(const KernelAnalysis& program, std::size_t n);
std::string name_of_kernel(std::size_t n);

}  // namespace cupola::cpu::compiler
