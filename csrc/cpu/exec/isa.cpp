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

const Isa& isa() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
    if (v4 && &x86_64_v4::handlers) return x86_64_v4::handlers;
    if (v3 && &x86_64_v3::handlers) return x86_64_v3::handlers;
    return x86_64_v2::handlers;
#else
    return generic::handlers;
#endif
}

}  // namespace exec
}  // namespace cupola::cpu
