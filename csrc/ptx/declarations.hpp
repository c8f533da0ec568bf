// csrc/ptx/declarations.hpp - declarations of variables.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/initialiser.hpp"
#include "ptx/program.hpp"
#include "ptx/scopes.hpp"
#include "ptx/token_stream.hpp"

namespace cupola::ptx {

// The linkage directives before a declaration.
struct Prefix {
    bool external = false, visible = false, common = false;
    std::uint32_t line = 0;
};

class Declarations {
  public:
    Declarations(TokenStream& tokens, Scopes& scopes, Module& module)
        : tokens_(tokens), scopes_(scopes), module_(module), initialiser_(tokens, scopes, module) {}

    // These functions read the variables of one declaration, after the state space.
    void module_variable(const Prefix& prefix, Space space);
    void local_variable(Function& f, Space space);
    // Reads a declaration up to its names: [.align n] [.v2 or .v4] .type [.ptr [.space] [.align n]]
    Declared declaration(Space space, const Prefix& prefix);
    // name, name<count> or name[bounds]
    void declare_name(Declared& d);
    void check_size(const Declared& d, const Token& at) const;
    std::uint32_t add_frame(Function& f, std::string_view name, Variable variable, const Token& at);
    Type fundamental_type();
    // The value of .align. ptxas accepts larger values, but only up to a limit is a module known to
    // load on a GPU.
    std::uint32_t alignment();

  private:
    bool opaque_type(Variable& v);
    void attributes(Variable& v);
    void array_bounds(Declared& d);
    std::vector<std::string_view> names_of(const Declared& d, const Token& at);
    void add_variable(const Prefix& prefix, std::string_view name, Variable variable,
                      const Token& at);

    TokenStream& tokens_;
    Scopes& scopes_;
    Module& module_;
    Initialiser initialiser_;
    std::deque<std::string> range_names_;  // names that the text does not contain
};

}  // namespace cupola::ptx
