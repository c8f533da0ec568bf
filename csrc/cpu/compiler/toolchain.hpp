// csrc/cpu/compiler/toolchain.hpp - this process's compiler and cache, and the keys of libraries.
#pragma once

#include <cstddef>
#include <string>

#include "cpu/compiler/cache.hpp"
#include "cpu/compiler/host_compiler.hpp"
#include "cpu/compiler/job.hpp"

namespace cupola::cpu::compiler {

void set_processors(std::size_t count);
std::size_t processors();

// Why this process compiles nothing, and loads nothing that was compiled; empty where it may.
std::string objection_to_compiling();

const Compiler& compiler();
// Made if need be. Throws std::runtime_error.
const Cache& cache();
// The same, or that of earlier processes; nullptr where there is none.
const Cache* cache_if_there();
// The same; nullptr where this process has made or used none.
const Cache* cache_if_made();

// The compiler with its version: what another one makes is another library. It is run once, and
// the cache keeps what it said.
std::string identity();
// The same as far as the cache has it; empty where it has not. Costs no process.
std::string identity_if_kept(const Cache& cache);

std::string key_of(const Job& job, const std::string& identity);

// A job's source in a new file in the cache's folder. `stem`: how the names of its files begin.
bool write_source(const Job& job, std::size_t files, std::string& stem, std::string& why);

}  // namespace cupola::cpu::compiler
