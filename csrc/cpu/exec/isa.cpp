// csrc/cpu/exec/isa.cpp - which instruction set's handlers this processor runs.
#include "cpu/exec/isa.hpp"

namespace cupola::cpu {

#if defined(__x86_64__)
// The newer ones are there where the build made them: see instruction_sets() of csrc/recipe.py.
namespace x86_64_v2 {
extern const exec::Isa handlers;
}
namespace x86_64_v3 {
[[gnu::weak]] extern const exec::Isa handlers;
}
namespace x86_64_v4 {
[[gnu::weak]] extern const exec::Isa handlers;
}
#else
namespace generic {
extern const exec::Isa handlers;
}
#endif

namespace exec {

#if defined(__x86_64__)
namespace {
bool runs_v3() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}
bool runs_v4() {
    return runs_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
}  // namespace

const Isa& isa() {
    if (runs_v4() && &x86_64_v4::handlers) return x86_64_v4::handlers;
    if (runs_v3() && &x86_64_v3::handlers) return x86_64_v3::handlers;
    return x86_64_v2::handlers;
}

std::vector<const char*> levels() {
    if (runs_v4()) return {"x86-64-v4", "x86-64-v3", "x86-64-v2"};
    if (runs_v3()) return {"x86-64-v3", "x86-64-v2"};
    return {"x86-64-v2"};
}
#else
const Isa& isa() { return generic::handlers; }

std::vector<const char*> levels() {
#if defined(__aarch64__)
    return {"aarch64"};
#else
    return {"generic"};
#endif
}
#endif

}  // namespace exec
}  // namespace cupola::cpu
