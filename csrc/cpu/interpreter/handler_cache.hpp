// csrc/cpu/interpreter/handler_cache.hpp - the handlers of instructions that were decoded before.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cpu/interpreter/decoded_origin.hpp"
#include "cpu/isa/code.hpp"

namespace cupola::cpu::interpreter {

// Looks each handler up once for all instructions with the same form, types and modifiers.
class HandlerCache {
  public:
    BoundHandler find(ptx::FormId form, const Key& key);
    // A row by its spelling, such as "and.pred", for instructions that the decoder adds.
    BoundHandler find(std::string_view opcode);
    // The origins of all handlers so far.
    const std::vector<Origin>& origins() const { return origins_; }

  private:
    std::unordered_map<std::uint32_t, std::unordered_map<std::uint64_t, BoundHandler>> known_;
    std::map<std::string, BoundHandler, std::less<>> spelled_;
    std::vector<Origin> origins_;
};

}  // namespace cupola::cpu::interpreter
