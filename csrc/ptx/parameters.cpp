// csrc/ptx/parameters.cpp - the parameters and results of functions and prototypes.
#include "ptx/parameters.hpp"

#include <algorithm>
#include <utility>

namespace cupola::ptx {

std::string written(const Variable& v) {
    const std::uint64_t element = std::max(bytes_of(v.type), 1u);
    std::string text = v.in_register ? ".reg" : ".param";
    if (v.type == Type::pred) return text + " .pred";
    if (!v.in_register && v.align != element) text += " .align " + std::to_string(v.align);
    if (!v.array && v.size > element) text += " .v" + std::to_string(v.size / element);
    text += " ." + std::string(name_of(v.type));
    if (v.array) text += "[" + (v.unsized ? "" : std::to_string(v.size / element)) + "]";
    return text;
}

bool alike(const Function& a, const Function& b) {
    const auto agree = [&](const std::vector<std::uint32_t>& mine,
                           const std::vector<std::uint32_t>& its) {
        return std::equal(mine.begin(), mine.end(), its.begin(), its.end(), [&](auto x, auto y) {
            return a.frame[x].size == b.frame[y].size && a.frame[x].align == b.frame[y].align;
        });
    };
    return agree(a.formals, b.formals) && agree(a.results, b.results);
}

void Parameters::read(Function& f, std::vector<std::uint32_t>& list, bool entry,
                      std::vector<RegisterParameter>& registers) {
    tokens_.expect('(');
    while (!tokens_.at_mark(')')) {
        const Token& token = tokens_.peek();
        if (!list.empty() && f.frame[list.back()].unsized)
            tokens_.fail(token, "only the last parameter can be an array without a size");
        list.push_back(read_one(f, entry, registers));
        if (f.frame[list.back()].unsized && (entry || &list == &f.results))
            tokens_.fail(token,
                         "only the last parameter of a function can be an array without a size");
        if (!tokens_.accept(',')) break;
    }
    tokens_.expect(')');
}

std::uint32_t Parameters::read_one(Function& f, bool entry,
                                   std::vector<RegisterParameter>& registers) {
    const Token& start = tokens_.peek();
    const std::uint64_t limit = entry ? 32764 : 65536;
    std::uint32_t index;
    if (!entry && tokens_.at_directive(".reg")) {
        registers.push_back(registers_.read_parameter(f));
        index = registers.back().frame;
    } else {
        if (!tokens_.at_directive(".param"))
            tokens_.fail(start, (entry ? "expected .param before a parameter of a kernel, got "
                                       : "expected .param or .reg before a parameter, got ") +
                                    quoted(start));
        tokens_.take();
        Declared d = declarations_.declaration(Space::param, {});
        const Token& name = tokens_.peek();
        declarations_.declare_name(d);
        if (d.range)
            tokens_.fail(name, "'" + std::string(d.name) +
                                   "' cannot be declared by number; declare each parameter");
        if (d.dims.size() > 1)
            tokens_.fail(name,
                         "parameter '" + std::string(d.name) + "' has more than one dimension");
        if (!d.variable.unsized) declarations_.check_size(d, start);
        if (d.variable.size > limit)
            tokens_.fail(start,
                         "the parameters are larger than " + std::to_string(limit) + " bytes");
        if (!entry && d.variable.align > 128)
            tokens_.fail(start, "the alignment of parameter '" + std::string(d.name) +
                                    "' is larger than 128");
        d.variable.name = std::string(d.name);
        index = declarations_.add_frame(f, d.name, std::move(d.variable), start);
    }
    if (scopes_.frame_at() > limit)
        tokens_.fail(start, "the parameters are larger than " + std::to_string(limit) + " bytes");
    return index;
}

std::vector<Variable> Parameters::read_prototype(bool results) {
    Function of;  // holds only the parameters
    std::vector<RegisterParameter> registers;
    const std::uint64_t frame_at = scopes_.frame_at();
    scopes_.set_frame_at(0);
    const std::uint32_t scope = scopes_.number();
    const Token& start = tokens_.peek();
    tokens_.expect('(');
    while (!tokens_.at_mark(')')) {
        scopes_.open();  // several may have the name _
        const std::uint32_t index = read_one(of, false, registers);
        scopes_.return_to(scope);
        if (of.frame[index].unsized && (results || !tokens_.at_mark(')')))
            tokens_.fail(start,
                         "only the last parameter of a function can be an array without a size");
        if (!tokens_.accept(',')) break;
    }
    tokens_.expect(')');
    if (results && of.frame.size() > 1 && registers.size() != of.frame.size())
        tokens_.fail(
            start, "a function with several results must return each of them in a .reg parameter");
    scopes_.set_frame_at(frame_at);
    return std::move(of.frame);
}

}  // namespace cupola::ptx
