// csrc/cpu/interpreter/decode.hpp - decodes a checked PTX kernel to threaded code.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "cpu/interpreter/call_graph.hpp"
#include "cpu/interpreter/handler_cache.hpp"
#include "cpu/interpreter/kernel.hpp"
#include "cpu/interpreter/variable_layout.hpp"

namespace cupola::cpu::interpreter {

// The parts that all kernels of a module share.
struct DecodedModule {
    const ptx::Module& module;
    std::string_view source;
    const Placement& placement;
    const CallGraph& graph;
    HandlerCache& handlers;
    std::shared_ptr<observe::ModuleCounters> counters{};  // null: nothing is counted
};

// Decodes the kernel with this index among the module's functions.
std::unique_ptr<KernelCode> decode(const DecodedModule& module, std::uint32_t entry);

}  // namespace cupola::cpu::interpreter
