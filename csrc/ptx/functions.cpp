// csrc/ptx/functions.cpp - kernels and functions: their heads, and their bodies.
#include "ptx/functions.hpp"

#include <utility>

#include "ptx/constant.hpp"

namespace cupola::ptx {

void Functions::read(const Prefix& prefix, bool entry) {
    Function f;
    f.entry = entry;
    f.visible = prefix.visible;
    f.line = prefix.line;
    calls_.clear();
    scopes_.set_frame_at(0);
    scopes_.open();
    std::vector<RegisterParameter> register_formals, register_results;
    if (!entry && tokens_.at_mark('(')) parameters_.read(f, f.results, false, register_results);
    if (f.results.size() > 1 && register_results.size() != f.results.size())
        tokens_.fail(
            tokens_.peek(),
            "a function with several results must return each of them in a .reg parameter");
    const Token& name = tokens_.peek();
    f.name = std::string(tokens_.expect_name("a function's name"));
    if (tokens_.at_mark('(')) parameters_.read(f, f.formals, entry, register_formals);
    const std::uint64_t after_formals = scopes_.frame_at();
    if (entry) scopes_.set_frame_at(0);  // an entry's parameters are in a separate bank
    f.frame_bytes = entry ? 0 : after_formals;
    head_directives(f);
    const std::uint32_t index = declare_function(f, name);
    if (tokens_.accept(';')) {
        scopes_.close();
        return;
    }
    if (!tokens_.at_mark('{'))
        tokens_.fail(tokens_.peek(), "expected '{' or ';' after the head of '" + f.name +
                                         "', got " + quoted(tokens_.peek()));
    if (module_.functions[index].defined) tokens_.fail(name, "'" + f.name + "' is defined twice");
    if (prefix.external) tokens_.fail(name, "'" + f.name + "' is .extern and cannot have a body");
    f.defined = true;
    body_.read(f, register_formals, register_results);
    scopes_.close();
    f.address_taken |= module_.functions[index].address_taken;
    module_.functions[index] = std::move(f);
}

std::uint32_t Functions::declare_function(Function& f, const Token& name) {
    const auto next = static_cast<std::uint32_t>(module_.functions.size());
    const auto [at, fresh] =
        scopes_.module().names.emplace(name.text, Symbol{Symbol::Kind::function, next});
    if (!fresh) {
        if (at->second.kind != Symbol::Kind::function)
            tokens_.fail(name, "'" + f.name + "' is declared twice");
        const Function& before = module_.functions[at->second.index];
        if (before.entry != f.entry)
            tokens_.fail(name, "'" + f.name + "' is declared as a kernel and as a function");
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
void Functions::check_declaration(const Function& f, const Function& before,
                                  const Token& at) const {
    const std::string what = (f.entry ? "kernel '" : "function '") + f.name + "' differs from ";
    const std::string line = "its declaration on line " + std::to_string(before.line);
    const auto compare = [&](const std::vector<std::uint32_t>& mine,
                             const std::vector<std::uint32_t>& earlier, const char* part) {
        if (mine.size() != earlier.size())
            tokens_.fail(at, what + line + ": " + std::to_string(mine.size()) + " " + part +
                                 "s here, " + std::to_string(earlier.size()) + " there");
        for (std::size_t n = 0; n < mine.size(); ++n) {
            const std::string here = written(f.frame[mine[n]]);
            const std::string there = written(before.frame[earlier[n]]);
            if (here != there)
                tokens_.fail(at, what + line + ": " + part + " " + std::to_string(n + 1) + " is " +
                                     here + " here, " + there + " there");
        }
    };
    compare(f.formals, before.formals, "parameter");
    compare(f.results, before.results, "result");
}

void Functions::head_directives(Function& f) {
    for (;;) {
        if (f.entry && tokens_.skip_debug()) continue;
        if (tokens_.peek().kind != Token::Kind::directive) break;
        const Token& token = tokens_.take();
        std::uint32_t sizes[3];
        if (!f.entry) {
            if (token.text == ".noreturn") continue;
            if (token.text != ".abi_preserve" && token.text != ".abi_preserve_control")
                tokens_.fail(token,
                             "directive " + std::string(token.text) + " applies only to kernels",
                             Error::Kind::unsupported_form);
            constant_unsigned(tokens_, "a number of registers");
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
            tokens_.fail(token, "directive " + std::string(token.text) + " is not supported",
                         Error::Kind::unsupported_form);
        }
    }
    if (f.max_cluster_rank != 0 && f.required_cluster[0] != 0)
        tokens_.fail(tokens_.peek(), ".maxclusterrank and .reqnctapercluster exclude each other");
}

void Functions::dimensions(std::uint32_t (&out)[3]) {
    out[0] = out[1] = out[2] = 1;
    for (unsigned i = 0; i < 3; ++i) {
        const Token& token = tokens_.peek();
        const std::uint64_t value = constant_unsigned(tokens_, "a size");
        if (value == 0 || value > 0x7fffffff)
            tokens_.fail(token, "size " + std::to_string(value) +
                                    " is out of range; expected 1 to 2147483647");
        out[i] = static_cast<std::uint32_t>(value);
        if (!tokens_.accept(',')) return;
    }
}

}  // namespace cupola::ptx
