// csrc/ptx/function_head.cpp - the head of a function: its parameters and its directives.
#include <algorithm>
#include <utility>

#include "ptx/parser.hpp"

namespace cupola::ptx {

void Parser::function(const Prefix& prefix, bool entry) {
    Function f;
    f.entry = entry;
    f.visible = prefix.visible;
    f.line = prefix.line;
    references_.clear();
    prototypes_.clear();
    frame_at_ = 0;
    open_scope();
    register_formals_.clear();
    register_results_.clear();
    if (!entry && at_mark('(')) parameters(f, f.results, false, register_results_);
    if (f.results.size() > 1 && register_results_.size() != f.results.size())
        fail(peek(),
             "a function with several results must return each of them in a .reg parameter");
    const Token& name = peek();
    f.name = std::string(expect_name("a function's name"));
    if (at_mark('(')) parameters(f, f.formals, entry, register_formals_);
    const std::uint64_t after_formals = frame_at_;
    if (entry) frame_at_ = 0;  // an entry's parameters are in a separate bank
    f.frame_bytes = entry ? 0 : after_formals;
    head_directives(f);
    const std::uint32_t index = declare_function(f, name);
    if (accept(';')) {
        close_scope();
        return;
    }
    if (!at_mark('{'))
        fail(peek(),
             "expected '{' or ';' after the head of '" + f.name + "', got " + quoted(peek()));
    if (module_.functions[index].defined) fail(name, "'" + f.name + "' is defined twice");
    if (prefix.external) fail(name, "'" + f.name + "' is .extern and cannot have a body");
    f.defined = true;
    body(f);
    close_scope();
    f.address_taken |= module_.functions[index].address_taken;
    module_.functions[index] = std::move(f);
}

// A kernel's address can be taken too, but not called.
void Parser::take_address(std::uint32_t function) {
    module_.functions[function].address_taken = true;
}

// An open array parameter gets the size of the longest argument that any call in the module passes
// to an open array. The variables after it in the frame move.
void Parser::place_open_formals() {
    if (open_bytes_ == 0) return;
    for (Function& f : module_.functions) {
        if (f.entry || f.formals.empty() || !f.frame[f.formals.back()].unsized) continue;
        const std::uint32_t open = f.formals.back();
        std::uint64_t align = 1;
        for (const Variable& v : f.frame) align = std::max<std::uint64_t>(align, v.align);
        const std::uint64_t moved = (open_bytes_ + align - 1) / align * align;
        for (std::size_t n = open + 1; n < f.frame.size(); ++n) f.frame[n].offset += moved;
        f.frame[open].size = open_bytes_;
        f.frame_bytes += moved;
    }
}

std::uint32_t Parser::declare_function(Function& f, const Token& name) {
    const auto next = static_cast<std::uint32_t>(module_.functions.size());
    const auto [at, fresh] =
        scopes_[0].names.emplace(name.text, Symbol{Symbol::Kind::function, next});
    if (!fresh) {
        if (at->second.kind != Symbol::Kind::function)
            fail(name, "'" + f.name + "' is declared twice");
        const Function& before = module_.functions[at->second.index];
        if (before.entry != f.entry)
            fail(name, "'" + f.name + "' is declared as a kernel and as a function");
        check_declaration(f, before, name);
        return at->second.index;
    }
    Function declared;
    declared.name = f.name;
    declared.entry = f.entry;
    declared.visible = f.visible;
    declared.line = f.line;
    declared.frame = f.frame;
    declared.frame_bytes = f.frame_bytes;
    declared.formals = f.formals;
    declared.results = f.results;
    module_.functions.push_back(std::move(declared));
    return next;
}

// Calls are checked against the declaration, so the definition must match it.
void Parser::check_declaration(const Function& f, const Function& before, const Token& at) const {
    const std::string what = (f.entry ? "kernel '" : "function '") + f.name + "' differs from ";
    const std::string line = "its declaration on line " + std::to_string(before.line);
    const auto compare = [&](const std::vector<std::uint32_t>& mine,
                             const std::vector<std::uint32_t>& earlier, const char* part) {
        if (mine.size() != earlier.size())
            fail(at, what + line + ": " + std::to_string(mine.size()) + " " + part + "s here, " +
                         std::to_string(earlier.size()) + " there");
        for (std::size_t n = 0; n < mine.size(); ++n) {
            const std::string here = written(f.frame[mine[n]]);
            const std::string there = written(before.frame[earlier[n]]);
            if (here != there)
                fail(at, what + line + ": " + part + " " + std::to_string(n + 1) + " is " + here +
                             " here, " + there + " there");
        }
    };
    compare(f.formals, before.formals, "parameter");
    compare(f.results, before.results, "result");
}

// A parameter's space, alignment, type and size, as a declaration spells them.
std::string Parser::written(const Variable& v) {
    const std::uint64_t element = std::max(bytes_of(v.type), 1u);
    std::string text = v.in_register ? ".reg" : ".param";
    if (v.type == Type::pred) return text + " .pred";
    if (!v.in_register && v.align != element) text += " .align " + std::to_string(v.align);
    if (!v.array && v.size > element) text += " .v" + std::to_string(v.size / element);
    text += " ." + std::string(name_of(v.type));
    if (v.array) text += "[" + (v.unsized ? "" : std::to_string(v.size / element)) + "]";
    return text;
}

void Parser::parameters(Function& f, std::vector<std::uint32_t>& list, bool entry,
                        std::vector<RegisterParameter>& registers) {
    expect('(');
    while (!at_mark(')')) {
        const Token& token = peek();
        if (!list.empty() && f.frame[list.back()].unsized)
            fail(token, "only the last parameter can be an array without a size");
        list.push_back(parameter(f, entry, registers));
        if (f.frame[list.back()].unsized && (entry || &list == &f.results))
            fail(token, "only the last parameter of a function can be an array without a size");
        if (!accept(',')) break;
    }
    expect(')');
}

std::uint32_t Parser::parameter(Function& f, bool entry,
                                std::vector<RegisterParameter>& registers) {
    const Token& start = peek();
    const std::uint64_t limit = entry ? 32764 : 65536;
    std::uint32_t index;
    if (!entry && at_directive(".reg")) {
        registers.push_back(register_parameter(f));
        index = registers.back().frame;
    } else {
        if (!at_directive(".param"))
            fail(start, (entry ? "expected .param before a parameter of a kernel, got "
                               : "expected .param or .reg before a parameter, got ") +
                            quoted(start));
        take();
        Declared d = declaration(Space::param, {});
        const Token& name = peek();
        declare_name(d);
        if (d.range)
            fail(name, "'" + std::string(d.name) +
                           "' cannot be declared by number; declare each parameter");
        if (d.dims.size() > 1)
            fail(name, "parameter '" + std::string(d.name) + "' has more than one dimension");
        if (!d.variable.unsized) check_size(d, start);
        if (d.variable.size > limit)
            fail(start, "the parameters are larger than " + std::to_string(limit) + " bytes");
        if (!entry && d.variable.align > 128)
            fail(start,
                 "the alignment of parameter '" + std::string(d.name) + "' is larger than 128");
        d.variable.name = std::string(d.name);
        index = add_frame(f, d.name, std::move(d.variable), start);
    }
    if (frame_at_ > limit)
        fail(start, "the parameters are larger than " + std::to_string(limit) + " bytes");
    return index;
}

void Parser::head_directives(Function& f) {
    for (;;) {
        if (f.entry && skip_debug()) continue;
        if (peek().kind != Token::Kind::directive) break;
        const Token& token = take();
        std::uint32_t sizes[3];
        if (!f.entry) {
            if (token.text == ".noreturn") continue;
            if (token.text != ".abi_preserve" && token.text != ".abi_preserve_control")
                fail(token, "directive " + std::string(token.text) + " applies only to kernels",
                     Error::Kind::unsupported_form);
            constant_unsigned("a number of registers");
        } else if (token.text == ".maxntid") {
            dimensions(f.max_threads);
        } else if (token.text == ".reqntid") {
            dimensions(f.required_threads);
        } else if (token.text == ".explicitcluster") {
            f.explicit_cluster = true;
        } else if (token.text == ".reqnctapercluster") {
            dimensions(f.required_cluster);
        } else if (token.text == ".maxclusterrank") {
            dimensions(sizes);
            f.max_cluster_rank = sizes[0];
        } else if (token.text == ".maxnreg") {
            dimensions(sizes);
            f.max_registers = sizes[0];
        } else if (token.text == ".minnctapersm") {
            dimensions(sizes);
            f.min_blocks = sizes[0];
        } else if (token.text == ".maxnctapersm") {
            dimensions(sizes);  // an obsolete hint without effect
        } else {
            fail(token, "directive " + std::string(token.text) + " is not supported",
                 Error::Kind::unsupported_form);
        }
    }
    if (f.max_cluster_rank != 0 && f.required_cluster[0] != 0)
        fail(peek(), ".maxclusterrank and .reqnctapercluster exclude each other");
}

void Parser::dimensions(std::uint32_t (&out)[3]) {
    out[0] = out[1] = out[2] = 1;
    for (unsigned i = 0; i < 3; ++i) {
        const Token& token = peek();
        const std::uint64_t value = constant_unsigned("a size");
        if (value == 0 || value > 0x7fffffff)
            fail(token,
                 "size " + std::to_string(value) + " is out of range; expected 1 to 2147483647");
        out[i] = static_cast<std::uint32_t>(value);
        if (!accept(',')) return;
    }
}

}  // namespace cupola::ptx
