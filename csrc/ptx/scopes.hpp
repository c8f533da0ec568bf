// csrc/ptx/scopes.hpp - the names in scope, and the frame's bytes in use.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx/program.hpp"

namespace cupola::ptx {

// The meaning of a name.
struct Symbol {
    enum class Kind : std::uint8_t { reg, variable, frame, function, table, prototype, targets };
    Kind kind;
    std::uint32_t index;
    unsigned count = 1;  // elements of a vector register, which have adjacent indices
};

struct RegisterType {
    Type type = Type::none;
    unsigned count = 1;  // elements of a vector
};

// The names of a brace pair in a function's body, or of the module.
struct NameScope {
    std::uint32_t parent = absent;
    std::uint64_t frame_at = 0;  // bytes of the frame in use when the scope was opened
    std::unordered_map<std::string_view, Symbol> names;
    struct Range {  // .reg .b32 %r<100>: a register is created at its first use
        std::string_view prefix;
        std::uint64_t count;
        RegisterType type;
    };
    std::vector<Range> ranges;
    std::unordered_map<std::string_view, std::uint32_t> labels;
};

class Scopes {
  public:
    Scopes() : scopes_(1) {}

    void open();
    // The names stay, because labels are resolved at the end. The frame's bytes can be reused.
    void close();
    NameScope& current() { return scopes_[scope_]; }
    NameScope& module() { return scopes_[0]; }
    std::uint32_t number() const { return scope_; }
    // Makes a scope the current one. The frame's bytes stay in use.
    void return_to(std::uint32_t scope) { scope_ = scope; }

    // The lookups return nullptr for an unknown name.
    const Symbol* find(std::string_view name) const;
    const Symbol* find_in_module(std::string_view name) const;
    const Symbol* find_register(Function& f, std::string_view name);
    const std::uint32_t* find_label(std::string_view name, std::uint32_t scope) const;

    // Bytes of the current function's frame that are in use.
    std::uint64_t frame_at() const { return frame_at_; }
    void set_frame_at(std::uint64_t bytes) { frame_at_ = bytes; }
    // Adds a variable without a name to the frame.
    std::uint32_t place(Function& f, Variable variable);

  private:
    std::vector<NameScope> scopes_;  // scopes_[0] is the module
    std::uint32_t scope_ = 0;
    std::uint64_t frame_at_ = 0;
};

}  // namespace cupola::ptx
