// tests/fuzz/signature_fuzz.cpp - the runtime's readers of a kernel's parameters, from PTX, C++
// names and declarations, and of source lines: they read any text within its bounds and return no
// impossible parameter.
#include <cstdlib>
#include <string>
#include <string_view>

#include "ptx/declared_kernels.hpp"
#include "ptx/inlined_names.hpp"
#include "runtime/module/declaration.cpp"
#include "runtime/module/parameter.cpp"
#include "runtime/module/ptx_signature.cpp"

namespace {

void check(const std::vector<cupola::Parameter>& parameters) {
    for (const cupola::Parameter& parameter : parameters) {
        if (parameter.size > 1u << 16 || parameter.offset > 1u << 16) std::abort();
        if (cupola::describe(parameter).empty()) std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    std::vector<cupola::Parameter> parameters, others;
    std::size_t looked = 0;
    for (const std::string& name : cupola::entries_of(text)) {
        if (++looked > 8) break;
        if (!cupola::from_ptx(text, name, parameters)) continue;
        check(parameters);
        // Merge the parameters of a kernel with those of the previous one.
        if (cupola::merge(parameters, others)) check(parameters);
        others = parameters;
    }
    for (const cupola::PtxKernel& kernel : cupola::kernels_of(text)) check(kernel.parameters);
    cupola::ptx::declared_variables(text);
    const cupola::ptx::LineTable lines(text);
    if (cupola::ptx::inlined_names(text, lines).size() != lines.scopes().size()) std::abort();
    if (cupola::from_demangled(text, parameters)) check(parameters);
    if (cupola::from_function_type(text, parameters)) check(parameters);
    std::vector<cupola::Declared> declared;
    if (cupola::from_declaration(text, declared).empty())
        for (const cupola::Declared& one : declared) {
            if (one.align == 0 || one.align > 16 || one.parameter.kind == 0) std::abort();
            if (one.parameter.type.empty()) std::abort();
            check({one.parameter});
        }
    return 0;
}
