// tests/fuzz/grammar/grammar.hpp - makes PTX: modules, declarations and instructions, by the rows
// of the instruction table, so that a large part of the modules loads and runs.
// Modules are short: one wrong statement is enough for an error. Mutations make them longer.
//
// Contents of registers: %rd0, %rd1 and %rd2 are generic addresses of global, shared and local
// memory; %r0 is the thread; %r1 and %r2 are offsets in shared and local memory. Others hold
// any value.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <string_view>

#include "ptx/table.hpp"

namespace cupola::fuzz {

class Grammar {
  public:
    explicit Grammar(std::uint64_t seed) : random_(seed) {}

    std::size_t below(std::size_t n) { return n == 0 ? 0 : random_() % n; }
    bool one_in(std::size_t n) { return below(n) == 0; }

    // One statement of a function's body.
    std::string statement() {
        if (one_in(12)) return variable() + "\n";
        if (one_in(14))
            return "L" + number(labels) + "_" + std::to_string(random_() % 1000) + ":\n";
        if (one_in(16)) return call() + "\n";
        std::string text;
        if (one_in(6)) text = one_in(2) ? "@%p" + number(8) + " " : "@!%p" + number(8) + " ";
        return text + instruction() + "\n";
    }

    std::string instruction() {
        // Chapters in turn: some have ten times the rows of others.
        const ptx::InstructionGroup& chapter = pick(ptx::instruction_groups);
        return instruction(chapter.rows[below(chapter.count)]);
    }

    std::string instruction(const ptx::Form& form) {
        const ptx::Type type = some(form.types), type2 = some(form.types2);
        vector_ = 1;
        space_ = ptx::Space::generic;
        std::string words(form.mnemonic), behind;
        for (unsigned n = 0; n < form.slots.count; ++n) {
            const ptx::ModifierSlot& axis = *form.slots.list[n];
            if (axis.optional && one_in(2)) continue;
            const auto& choice = axis.choices[below(axis.count)];
            if (axis.field.shift == ptx::field::vector.shift) vector_ = choice.value;
            if (axis.field.shift == ptx::field::space.shift)
                space_ = static_cast<ptx::Space>(choice.value);
            (axis.trailing ? behind : words) += "." + std::string(choice.text);
        }
        if (type != ptx::Type::none) words += "." + std::string(ptx::name_of(type));
        if (type2 != ptx::Type::none) words += "." + std::string(ptx::name_of(type2));
        words += behind;
        std::string list;
        for (unsigned n = 0; n < form.operands.count; ++n) {
            const std::string each = operand(form.operands.list[n], type, type2);
            if (each.empty()) continue;
            list += (list.empty() ? " " : ", ") + each;
        }
        return words + list + ";";
    }

    // A variable: at a module's level, or in a function where that has it.
    std::string variable() {
        static constexpr std::string_view spaces[] = {".global", ".const", ".shared", ".local",
                                                      ".param"};
        static constexpr std::string_view types[] = {".u8",  ".b8",  ".u16", ".b32",
                                                     ".u32", ".s32", ".f32", ".u64",
                                                     ".b64", ".f64", ".f16", ".b128"};
        static constexpr std::string_view bounds[] = {"",       "[4]", "[64]",  "[]",
                                                      "[2][3]", "[0]", "[][0]", "[1000]"};
        static constexpr std::string_view values[] = {"",
                                                      "",
                                                      "",
                                                      " = 7",
                                                      " = {1, 2, 3}",
                                                      " = {g0, g1}",
                                                      " = generic(g0)",
                                                      " = {{1}, {2}}",
                                                      " = {f0, f0}",
                                                      " = 0f3F800000",
                                                      " = 0xff(g1)"};
        std::string text;
        if (one_in(6)) text += ".visible ";
        if (one_in(12)) text += ".extern ";
        text += pick(spaces);
        if (one_in(3)) text += " .align " + std::to_string(1u << below(one_in(4) ? 14 : 7));
        if (one_in(8)) text += one_in(2) ? " .v2" : " .v4";
        text += " " + std::string(pick(types)) + " x" + std::to_string(random_() % 40);
        return text + std::string(pick(bounds)) + std::string(pick(values)) + ";";
    }

    std::string function(unsigned n) {
        static constexpr std::string_view parameters[] = {
            "", ".param .b32 a", ".param .b64 a, .param .b32 b", ".param .align 8 .b8 a[16]",
            ".param .align 16 .b8 a[4000]"};
        std::string text = ".func ";
        if (one_in(2)) text += one_in(4) ? "(.param .align 8 .b8 r[16]) " : "(.param .b32 r) ";
        text += "f" + std::to_string(n) + "(" + std::string(pick(parameters)) + ")";
        if (one_in(5)) return text + ";\n";
        return text + " {\n" + body(below(2)) + "}\n";
    }

    std::string kernel(unsigned n) {
        std::string text = ".visible .entry k" + std::to_string(n) +
                           "(.param .u64 p, .param .u64 q, .param .u32 n)\n";
        if (one_in(10)) text += ".maxntid 64, 1, 1\n";
        if (one_in(14)) text += ".reqnctapercluster 2, 1, 1\n";
        return text + "{\n" + body(1 + below(3)) + "}\n";
    }

    std::string module() {
        std::string text =
            ".version 8.7\n.target sm_90a\n.address_size 64\n"
            ".global .align 16 .b8 g0[256];\n.global .align 16 .u32 g1[64] = {1, 2};\n"
            ".const .align 16 .b8 c0[64] = {1, 2, 3};\n";
        if (one_in(3)) text += variable() + "\n";
        for (unsigned n = 0; n < 2; ++n) text += function(n);
        for (unsigned n = 0; n < 1 + below(2); ++n) text += kernel(n);
        return text;
    }

  private:
    static constexpr unsigned labels = 4;

    template <class T, std::size_t N>
    const T& pick(const T (&list)[N]) {
        return list[below(N)];
    }
    std::string number(unsigned n) { return std::to_string(below(n)); }
    ptx::Type some(const ptx::Types& types) {
        return types.count == 0 ? ptx::Type::none : types.list[below(types.count)];
    }

    std::string body(std::size_t statements) {
        std::string text =
            ".reg .b64 %rd<8>; .reg .b32 %r<8>; .reg .b16 %rs<8>; .reg .f32 %f<8>; "
            ".reg .f64 %fd<8>; .reg .pred %p<8>; .reg .b128 %rq<8>;\n"
            ".shared .align 16 .b8 s0[256]; .local .align 16 .b8 l0[128];\n"
            "mov.u64 %rd0, g0; cvta.global.u64 %rd0, %rd0; mov.u64 %rd1, s0; cvta.shared.u64 %rd1, "
            "%rd1; mov.u64 %rd2, l0; cvta.local.u64 %rd2, %rd2; mov.u32 %r0, %tid.x; mov.u32 %r1, "
            "s0; mov.u32 %r2, l0;\n";
        for (std::size_t n = 0; n < statements; ++n) text += statement();
        for (unsigned n = 0; n < labels; ++n) text += "L" + std::to_string(n) + ": ";
        return text + "ret;\n";
    }

    std::string call() {
        static constexpr std::string_view calls[] = {
            "{ .param .b32 v; st.param.b32 [v], %r3; call f0, (v); }",
            "{ .param .b32 v; .param .b32 w; st.param.b32 [v], %r3; call (w), f1, (v); "
            "ld.param.b32 "
            "%r4, [w]; }",
            "call f0, ();",
            "{ .param .align 8 .b8 v[16]; st.param.b64 [v+8], %rd3; call f1, (v); }",
            "P: .callprototype _ (.param .b32 a); { .param .b32 v; call %rd3, (v), P; }",
            "T: .branchtargets L0, L1, L2; brx.idx %r3, T;"};
        return std::string(pick(calls));
    }

    std::string reg(ptx::Type type) {
        if (type == ptx::Type::pred) return "%p" + number(8);
        const unsigned bytes = ptx::bytes_of(type);
        if (type == ptx::Type::f32 && one_in(2)) return "%f" + number(8);
        if (type == ptx::Type::f64 && one_in(2)) return "%fd" + number(8);
        return reg(bytes);
    }
    std::string reg(unsigned bytes) {
        // Addresses of 32 and 64 bits; few of them point to memory.
        const std::string n = one_in(12) ? number(8) : std::to_string(3 + below(5));
        return (bytes <= 2 ? "%rs" : bytes == 4 ? "%r" : bytes == 8 ? "%rd" : "%rq") + n;
    }

    std::string integer() {
        static constexpr std::string_view some[] = {
            "0",          "1",          "2",
            "3",          "4",          "8",
            "15",         "16",         "31",
            "32",         "33",         "64",
            "255",        "-1",         "-2",
            "0x80000000", "0x7fffffff", "4294967295",
            "65535",      "100000",     "0x8000000000000000"};
        return std::string(pick(some));
    }
    std::string source(ptx::Type type) {
        if (type == ptx::Type::pred || one_in(3) == false) return reg(type);
        if (type == ptx::Type::f32) return one_in(2) ? "0f7FC00000" : "0f3F800000";
        if (type == ptx::Type::f64) return one_in(2) ? "0d7FF0000000000000" : "1.5";
        static constexpr std::string_view specials[] = {"%tid.x", "%laneid",      "%ntid.x",
                                                        "%clock", "%lanemask_lt", "%ctaid.x"};
        if (ptx::bytes_of(type) == 4 && one_in(4)) return std::string(pick(specials));
        return integer();
    }
    std::string width(unsigned bytes) { return one_in(3) ? integer() : reg(bytes); }

    std::string list(unsigned count, std::string (Grammar::*one)(ptx::Type), ptx::Type type) {
        std::string text = "{";
        for (unsigned n = 0; n < count; ++n) text += (n ? ", " : "") + (this->*one)(type);
        return text + "}";
    }
    std::string memory() {
        using S = ptx::Space;
        static constexpr std::string_view offsets[] = {
            "", "", "", "+16", "+64", "+4", "+1", "+240", "+-8", "+4096", "+2147483647"};
        const auto at = [&](std::string_view base) {
            return "[" + std::string(base) + std::string(pick(offsets)) + "]";
        };
        if (one_in(20)) return at(reg(one_in(2) ? 4u : 8u));
        switch (space_) {
            case S::shared:
            case S::cluster_shared:
                return at(one_in(2) ? "s0" : "%r1");
            case S::local:
                return at(one_in(2) ? "l0" : "%r2");
            case S::constant:
                return at("c0");
            case S::param:
                return at(one_in(2) ? "p" : "n");
            case S::global:
                return at(one_in(3) ? "g1" : "%rd0");
            default:
                return at(one_in(3) ? "%rd1" : one_in(3) ? "%rd2" : "%rd0");
        }
    }
    static ptx::Type of_width(unsigned bytes) {
        return bytes <= 1   ? ptx::Type::b8
               : bytes == 2 ? ptx::Type::b16
               : bytes == 4 ? ptx::Type::b32
               : bytes == 8 ? ptx::Type::b64
                            : ptx::Type::b128;
    }

    std::string operand(ptx::OperandConstraint shape, ptx::Type type, ptx::Type type2) {
        using S = ptx::OperandConstraint;
        const unsigned bytes = ptx::bytes_of(type);
        switch (shape) {
            case S::d:
            case S::dr:
                return one_in(30) ? "_" : reg(type);
            case S::dw:
                return reg(of_width(2 * bytes));
            case S::d32:
                return reg(4);
            case S::p:
                return reg(ptx::Type::pred);
            case S::pq:
                return one_in(2) ? "%p3|%p4" : "%p3";
            case S::dp:
                return reg(type) + (one_in(2) ? "|%p3" : "");
            case S::a:
                return source(type);
            case S::aw:
                return source(of_width(2 * bytes));
            case S::a2:
            case S::ar2:
                return source(type2);
            case S::four_a2:
                return list(4, &Grammar::source, type2);
            case S::w:
                return width(4);
            case S::h:
                return width(2);
            case S::np:
                return (one_in(3) ? "!%p" : "%p") + number(8);
            case S::imm:
                return integer();
            case S::number:
                return "0f3F800000";
            case S::vd:
            case S::va: {
                static constexpr std::string_view parts[] = {"",    "",    ".b0",  ".b3",
                                                             ".h0", ".h1", ".b12", ".b7654"};
                return (shape == S::va && one_in(4) ? "-" : "") + reg(4) + std::string(pick(parts));
            }
            case S::m:
                return memory();
            case S::dv:
            case S::av:
                if (vector_ == 1) return shape == S::dv ? reg(type) : source(type);
                return list(vector_, &Grammar::reg, type);
            case S::dpack:
            case S::apack: {
                const unsigned parts = one_in(3) ? 4 : 2;
                return list(parts, &Grammar::reg, of_width(bytes / parts));
            }
            case S::address:
                return one_in(2) ? reg(type) : one_in(2) ? "g0" : one_in(2) ? "s0" : "f0";
            case S::label:
                return one_in(20) ? "P" : "L" + number(labels);
            case S::targets:
                return one_in(20) ? "L" + number(labels) : "T";
            case S::fetched:
                return list(4, &Grammar::reg, type);
            case S::texel:
                return "[%rd3, " + list(1u << below(3), &Grammar::reg, type2) + "]";
            case S::opaque:
                return "[%rd3]";
            case S::gradient:
            case S::offsets:
                return list(1u << below(3), &Grammar::reg,
                            shape == S::gradient ? ptx::Type::f32 : ptx::Type::s32);
            case S::cc_in:
            case S::cc_out:
                return "";
            case S::tensor:
                return "[%rd0, " +
                       list(1 + static_cast<unsigned>(below(5)), &Grammar::reg, ptx::Type::s32) +
                       "]";
            case S::shift:
                return list(1 + static_cast<unsigned>(below(3)), &Grammar::reg, ptx::Type::b16);
            case S::fd:
            case S::fa:
            case S::fb:
            case S::fc:
                return list(1u << below(4), &Grammar::reg,
                            one_in(3) ? ptx::Type::f32 : ptx::Type::b32);
            case S::md:
                return "%rd" + number(8);
            case S::sd:
                return reg(4u);
            case S::sa:
            case S::sb:
                return "{" + (one_in(2) ? number(4) : reg(2u)) + ", " +
                       (one_in(2) ? number(4) : reg(2u)) + "}";
            case S::tm:
                return "[" + reg(4u) + (one_in(4) ? "+16" : "") + "]";
            case S::td:
            case S::ts:
                return list(1u << below(8), &Grammar::reg, ptx::Type::b32);
            case S::columns:
                return one_in(2) ? "32" : width(4);
            case S::mask:
                return list(one_in(2) ? 4 : 8, &Grammar::reg, ptx::Type::b32);
            case S::tr:
                return reg(4u);
            case S::halvings:
                return number(20);
            case S::few:
                return one_in(2) ? number(16) : width(4);
        }
        return "";
    }

    // A generator of few words: one is made for each input.
    std::minstd_rand random_;
    unsigned vector_ = 1;
    ptx::Space space_ = ptx::Space::generic;
};

}  // namespace cupola::fuzz
