// csrc/dropin/recorder/memory.hpp - the memory that a launch may reach.
//
// The types of arguments and of memory are known when the spool is converted. So more is read here:
// whatever an aligned word of the arguments, or of memory that was found before, leads to. The
// rules that choose among it are in package/cupola/recording/memory.py.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "dropin/recorder/functions.hpp"

namespace cupola::recorder {

// A whole allocation, or a variable.
struct Piece {
    std::uint64_t begin = 0, bytes = 0;
    std::string variable;  // its name; empty for an allocation
};

class Memory {
  public:
    void add(Piece piece);
    // Adds the allocations to which words lead.
    void follow(std::string_view bytes);
    const std::vector<Piece>& pieces() const { return pieces_; }
    // Removes a piece that can't be read.
    void remove(std::size_t index);

  private:
    bool is_known(std::uint64_t address) const;

    std::vector<Piece> pieces_;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> sorted_;  // begins and ends
    std::unordered_set<std::uint64_t> misses_;
};

// The variables of a function's module in the current context.
std::vector<Piece> variables_of(const Function& function);

// Copies a piece to the host; false where the driver does not allow that.
bool read(const Piece& piece, std::string& out);

}  // namespace cupola::recorder
