// csrc/cpu/interpreter/decoded_functions.cpp - orders the functions of a kernel, and sums their
// frames.
#include "cpu/interpreter/decoded_functions.hpp"

#include <algorithm>

namespace cupola::cpu::interpreter {

DecodedFunctions::DecodedFunctions(const ptx::Module& module, const CallGraph& graph,
                                   std::uint32_t entry, CodeBuilder& code)
    : module_(module),
      graph_(graph),
      code_(code),
      list_(graph.reachable(entry)),
      parts_(list_.size()),
      part_of_(module.functions.size(), ptx::absent) {
    for (std::uint32_t n = 0; n < list_.size(); ++n) {
        part_of_[list_[n]] = n;
        parts_[n].function = list_[n];
        recursive_ |= graph_.in_cycle(list_[n], list_[n]);
    }
}

void DecodedFunctions::begin(DecodedFunction& part) {
    part_ = &part;
    current_ = &module_.functions[part.function];
    const auto align = [&](std::uint64_t bytes) {
        return static_cast<std::uint32_t>(rounded(bytes, code_.kernel().local_align));
    };
    part.registers.assign(current_->registers.size(), 0);
    part.frame = align(current_->frame_bytes);
    if (graph_.in_cycle(part.function, part.function)) {
        for (const Type type : current_->registers)
            part.save += type == Type::pred ? 1 : ptx::bytes_of(type);
        part.save = align(part.save);
    }
    part.deepest = part.frame + part.save;
    std::uint32_t above = 0;
    for (const auto& call : current_->calls)
        for (const std::uint32_t callee : graph_.callees(*current_, call))
            if (part_of_[callee] < static_cast<std::uint32_t>(&part - parts_.data()))
                above = std::max(above, part_of(callee).deepest);
    part.deepest += above;
    if (part.deepest > 1024 * 1024)
        code_.fail(current_->line, "more than 1 MiB of local memory for each thread");
    part.start = code_.size();
}

}  // namespace cupola::cpu::interpreter
