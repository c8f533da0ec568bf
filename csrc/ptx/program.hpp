// csrc/ptx/program.hpp - a checked PTX program, the parser's result.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/modifiers.hpp"
#include "ptx/table.hpp"
#include "ptx/type.hpp"

namespace cupola::ptx {

inline constexpr std::uint32_t absent = 0xffffffffu;

// An address in a variable's initialiser.
struct Relocation {
    std::uint64_t offset = 0;         // in the initialised variable
    std::uint32_t variable = absent;  // index of a variable of the module, or
    std::uint32_t function = absent;
    std::int64_t addend = 0;
    std::uint8_t bytes = 8, shift = 0;  // writes this many bytes of (address >> shift)
};

// The kind of a .texref, .samplerref or .surfref variable. Its value is a handle, which programs
// cannot load or store.
enum class Opaque : std::uint8_t { none, texture, sampler, surface };

struct Variable {
    std::string name;
    Opaque opaque = Opaque::none;
    Space space = Space::global;
    Type type = Type::none;
    std::uint32_t align = 1;
    std::uint64_t size = 0;    // bytes; 0 for an extern array without a size
    std::uint64_t offset = 0;  // in the frame, for a function's variable
    bool external = false, visible = false, unsized = false, managed = false;
    bool array = false;
    bool in_register = false;  // a parameter in a register of its function, also stored here
    std::uint32_t line = 0;
    std::vector<std::uint8_t> init;  // its first bytes; the rest is zero
    std::vector<Relocation> relocations;
};

// Special registers such as %tid.
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
    performance,    // %pm0 to %pm7; they always read as 0
    performance64,  // %pm0_64
    envreg0,        // up to %envreg31
    envreg1,
    envreg2,
    envreg31 = envreg0 + 31,
    count,
};

// Fields of Operand::selector.
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
        frame,     // address of the function's frame variable `index`, plus value
        function,  // index
        memory,    // [base + value]
        texel,     // [base, operands]: `count` operands from index `value`
        vector,    // `count` operands from `index`
        label,     // index: label of the function
        table,     // index: .branchtargets of the function
    };
    Kind kind = Kind::none;
    Kind base = Kind::none;  // memory: reg, variable, frame or integer; texel: reg or variable
    Type type = Type::none;  // type of a register
    bool negated = false;    // !p, or -a of a video instruction
    bool sum = false;        // a register or an address to which the parser added a constant
    bool element = false;    // the address of variable[index], outside of [ ]
    // Parts of a register (.b0, .h32); 0 is the whole register. Bit 15 is set for half-words, bits
    // 12 to 14 are the number of parts. Each part has three of the lower bits, the last part
    // lowest.
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
    std::uint32_t operand = 0;  // index of its first operand in the function's operands
    std::uint32_t operands = 0;
    std::uint32_t call = absent;  // for a call: index into the function's calls
};

struct Call {
    std::uint32_t function = absent;  // index of a function of the module, or
    std::uint32_t pointer = absent;   // the register that holds its address
    std::uint32_t targets = absent;   // index into Module::targets: the possible callees
    std::vector<std::uint32_t> arguments, results;  // frame variables of the caller
};

// A register or vector register that the text names; a view of the text.
struct RegisterName {
    std::string_view name;
    std::uint32_t index = 0, count = 1;
};

struct Function {
    std::string name;
    bool entry = false, defined = false, visible = false;
    bool address_taken = false;
    std::uint32_t line = 0;
    std::vector<Variable> frame;  // .local and .param: formals first
    std::uint64_t frame_bytes = 0;
    std::vector<std::uint32_t> formals,
        results;  // indices into frame; an entry's formals are in a separate bank
    std::vector<Type> registers;
    std::vector<RegisterName> register_names;
    std::vector<Instruction> code;
    std::vector<Operand> operands;
    std::vector<std::uint32_t> labels;               // index of the instruction after each label
    std::vector<std::vector<std::uint32_t>> tables;  // .branchtargets: labels
    std::vector<Call> calls;
    std::uint32_t max_threads[3] = {0, 0, 0}, required_threads[3] = {0, 0, 0};
    std::uint32_t required_cluster[3] = {0, 0, 0};  // .reqnctapercluster
    std::uint32_t max_cluster_rank = 0;             // .maxclusterrank; 0 if absent
    std::uint32_t max_registers = 0;                // .maxnreg; 0 if absent
    std::uint32_t min_blocks = 0;  // .minnctapersm: blocks whose registers fit one multiprocessor
    bool explicit_cluster = false;
};

struct Module {
    int version = 0, address_bits = 64;
    Target target;
    bool independent_samplers = false;  // .target texmode_independent
    bool no_doubles = false;            // .target map_f64_to_f32
    bool debug = false;                 // .target debug: NVIDIA's assembler optimizes nothing
    std::vector<Variable> variables;
    std::vector<Function> functions;
    std::vector<std::vector<std::uint32_t>>
        targets;  // the functions of a .calltargets or of a table
};

// Parses and checks a whole module. Throws Error.
Module parse(std::string_view source);

}  // namespace cupola::ptx
