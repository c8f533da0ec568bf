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

// Why this process neither compiles kernels nor loads compiled code; empty if it may do both.
std::string objection_to_compiling();

const Compiler& compiler();
// Opened at first use. Throws std::runtime_error.
const Cache& cache();
// The cache of this process, or of earlier processes; nullptr if neither exists.
const Cache* existing_cache();
// The cache of this process; nullptr if this process has not opened it.
const Cache* opened_cache();

// The compiler and its version, which are part of a library's key. The compiler is run once, and
// the cache keeps its answer.
std::string identity();
// The identity that the cache has, without running a process; empty if the cache has none.
std::string cached_identity(const Cache& cache);

std::string key_of(const Job& job, const std::string& identity);

// Writes a job's source to a new file in the cache's folder. `stem`: the common beginning of the
// names of its files.
bool write_source(const Job& job, Sources& sources, std::string& stem, std::string& why);

}  // namespace cupola::cpu::compiler
