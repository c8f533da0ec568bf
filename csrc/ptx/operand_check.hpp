// csrc/ptx/operand_check.hpp - checks an instruction's operands against a row of the table.
#pragma once

#include <string>
#include <string_view>

#include "ptx/match.hpp"
#include "ptx/matrix.hpp"
#include "ptx/program.hpp"

namespace cupola::ptx {

struct CheckContext {
    const Module& module;
    const Function& function;
    const Operand* operands;
    std::uint32_t count;
};

// Returns an empty text if the operands fit the candidate's row, else the reason why not.
std::string check_operands(const Candidate& candidate, const CheckContext& here);

// Each check returns an empty text if it passes, else the reason.
class OperandCheck {
  public:
    OperandCheck(const Candidate& candidate, const CheckContext& here)
        : c_(candidate), here_(here) {}
    std::string run() const;

  private:
    std::string order() const;
    std::string immediate(const Operand& o) const;
    std::string one(OperandConstraint constraint, const Operand& o) const;
    std::string fragment(const Operand& o, Matrix of) const;
    std::string scale_selector(const Operand& o, std::int64_t last_lanes) const;
    std::string registers(const Operand& o, bool to) const;
    std::string columns(const Operand& o) const;
    Geometry geometry() const;
    std::string fetched(const Operand& o, Type type) const;
    std::string memory(const Operand& o) const;
    std::string handle(const Operand& o, Opaque wanted) const;
    std::string queried(const Operand& o) const;
    unsigned axes() const;
    TensorMode tensor_mode() const;
    std::string shift(const Operand& o) const;
    std::string result_of_query() const;
    const Operand& without_braces(const Operand& o, OperandConstraint constraint) const;
    std::string braces_of_scales() const;
    std::string mask(const Operand& o) const;
    bool is_sampler(const Operand& o) const;
    std::string tensor(const Operand& o) const;
    std::string row(const Operand& o, Type type, unsigned count, const char* what,
                    unsigned written) const;
    std::string texel(const Operand& o) const;
    std::string elements(const Operand& o, Type type, unsigned count) const;
    bool widens() const;
    bool moves() const;
    Type result() const;
    std::string destination(const Operand& o, Type type, bool relaxed) const;
    std::string pair(const Operand& o, Type type) const;
    std::string source(const Operand& o, Type type, bool relaxed) const;
    static std::string pointer(const Operand& o);
    static std::string predicate(const Operand& o);
    std::string vector(const Operand& o, Type type, bool to) const;
    std::string element(const Operand& o, Type type, bool to) const;
    std::string pack(const Operand& o, Type type, bool to) const;
    std::string symbol(const Operand& o, Type type) const;

    const Candidate& c_;
    const CheckContext& here_;
};

}  // namespace cupola::ptx
