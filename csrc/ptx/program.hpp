// csrc/ptx/program.hpp - a checked PTX program: what the parser hands on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ptx/modifiers.hpp"
#include "ptx/table.hpp"
#include "ptx/type.hpp"

namespace cupola::ptx {

inline constexpr std::uint32_t absent = 0xffffffffu;

// An address that a variable's initialiser holds.
struct Relocation {
    std::uint64_t offset = 0;         // in the variable
    std::uint32_t variable = absent;  // of the module, or
    std::uint32_t function = absent;
    std::int64_t addend = 0;
    std::uint8_t bytes = 8, shift = 0;  // how many bytes are written, of the address >> shift
};

// What .texref, .samplerref and .surfref variables are: a number that stands for a texture or
// surface, which nobody loads or stores.
enum class Opaque : std::uint8_t { none, texture, sampler, surface };

struct Variable {
    std::string name;
    Opaque opaque = Opaque::none;
    Space space = Space::global;
    Type type = Type::none;
    std::uint32_t align = 1;
    std::uint64_t size = 0;    // bytes; 0 where an extern array leaves it open
    std::uint64_t offset = 0;  // in the frame, of a function's own variable
    bool external = false, visible = false, unsized = false, managed = false;
    bool array = false;
    bool in_register = false;  // a parameter that is a register of its function, kept here too
    std::uint32_t line = 0;
    std::vector<std::uint8_t> init;  // its first bytes; the rest is zero
    std::vector<Relocation> relocations;
};

// %tid and its kin.
enum class Special : std::uint8_t {
    tid_x,
    tid_y,
    tid_z,
    ntid_x,
    ntid_y,
    ntid_z,
    ctaid_x,
    ctaid_y,
    ctaid_z,
    nctaid_x,
    nctaid_y,
    nctaid_z,
    laneid,
    warpid,
    nwarpid,
    warp_size,
    smid,
    nsmid,
    gridid,
    lanemask_eq,
    lanemask_le,
    lanemask_lt,
    lanemask_ge,
    lanemask_gt,
    clock,
    clock_hi,
    clock64,
    globaltimer,
    globaltimer_lo,
    globaltimer_hi,
    dynamic_smem_size,
    total_smem_size,
    cluster_ctaid_x,
    cluster_ctaid_y,
    cluster_ctaid_z,
    cluster_nctaid_x,
    cluster_nctaid_y,
    cluster_nctaid_z,
    clusterid_x,
    clusterid_y,
    clusterid_z,
    nclusterid_x,
    nclusterid_y,
    nclusterid_z,
    cluster_ctarank,
    cluster_nctarank,
    is_explicit_cluster,  // a predicate
    aggr_smem_size,
    reserved_smem_offset_begin,
    reserved_smem_offset_end,
    reserved_smem_offset_cap,
    reserved_smem_offset_0,
    reserved_smem_offset_1,
    current_graph_exec,
    performance,    // %pm0 and its kin: nothing is counted
    performance64,  // %pm0_64
    envreg0,        // and so on, to %envreg31
    envreg1,
    envreg2,
    envreg31 = envreg0 + 31,
    count,
};

// Of Operand::selector.
inline constexpr std::uint16_t selector_half = 1u << 15;
constexpr unsigned selector_count(std::uint16_t s) { return s >> 12 & 7u; }
constexpr unsigned selector_part(std::uint16_t s, unsigned n) { return s >> 3 * n & 7u; }

struct Operand {
    enum class Kind : std::uint8_t {
        none,
        reg,       // index: register of the function
        sink,      // _
        integer,   // value
        real,      // value: bits of an f64
        single,    // value: bits of an f32
        special,   // index: Special
        variable,  // address of module variable `index`, plus value
        frame,     // address of the function's own variable `index`, plus value
        function,  // index
        memory,    // [base + value]
        texel,     // [base, operands]: count of these from operand `value` on
        vector,    // count operands from `index` on
        label,     // index: label of the function
        table,     // index: .branchtargets of the function
    };
    Kind kind = Kind::none;
    Kind base = Kind::none;  // of memory: reg, variable, frame, integer; of a texel: the first two
    Type type = Type::none;  // of a register
    bool negated = false;    // !p, or -a of a video instruction
    bool sum = false;        // a register or an address with a constant added by the parser
    bool element = false;    // a variable's address: variable[index], outside of [ ]
    // Parts of a register, .b0 or .h32: how many; half-words or bytes; three bits for each, the
    // last one written lowest. 0: all of it.
    std::uint16_t selector = 0;
    std::uint32_t index = 0;
    std::uint32_t count = 0;
    std::uint32_t second = absent;  // register q of p|q, d|p
    std::int64_t value = 0;
};

struct Instruction {
    FormId form;
    Type type = Type::none, type2 = Type::none;
    bool guard_negated = false;
    std::uint32_t guard = absent;  // predicate register
    Bits modifiers = 0;
    std::uint32_t line = 0;
    std::uint32_t operand = 0;  // first, in the function's operands
    std::uint32_t operands = 0;
    std::uint32_t call = absent;  // of a call: index into the function's calls
};

struct Call {
    std::uint32_t function = absent;                // of the module, or
    std::uint32_t pointer = absent;                 // the register that holds its address
    std::uint32_t targets = absent;                 // the module's list of where it may lead
    std::vector<std::uint32_t> arguments, results;  // frame variables of the caller
};

struct Function {
    std::string name;
    bool entry = false, defined = false, visible = false;
    bool address_taken = false;
    std::uint32_t line = 0;
    std::vector<Variable> frame;  // .local and .param: formals first
    std::uint64_t frame_bytes = 0;
    std::vector<std::uint32_t> formals, results;  // into frame; an entry's formals lie apart
    std::vector<Type> registers;
    std::vector<Instruction> code;
    std::vector<Operand> operands;
    std::vector<std::uint32_t> labels;               // the instruction that each stands before
    std::vector<std::vector<std::uint32_t>> tables;  // .branchtargets: labels
    std::vector<Call> calls;
    std::uint32_t max_threads[3] = {0, 0, 0}, required_threads[3] = {0, 0, 0};
    std::uint32_t required_cluster[3] = {0, 0, 0};  // .reqnctapercluster
    std::uint32_t max_cluster_rank = 0;             // .maxclusterrank, 0 where there is none
    std::uint32_t max_registers = 0;                // .maxnreg, likewise
    std::uint32_t min_blocks = 0;  // .minnctapersm: so many fit a multiprocessor's registers
    bool explicit_cluster = false;
};

struct Module {
    int version = 0, target = 0, address_bits = 64;
    bool independent_samplers = false;  // .target texmode_independent
    std::vector<Variable> variables;
    std::vector<Function> functions;
    std::vector<std::vector<std::uint32_t>> targets;  // .calltargets and the like: functions
};

// Reads and checks a whole module. Throws Error.
Module parse(std::string_view source);

}  // namespace cupola::ptx
