// csrc/cpu/interpreter/host_isa.cpp - selects the handlers for this processor's instruction set.
#include "cpu/interpreter/host_isa.hpp"

#include "cpu/interpreter/levels.hpp"
#include "cpu/interpreter/processor.hpp"

namespace cupola::cpu {

#if defined(__x86_64__)
// Higher levels exist where the build made them: see instruction_sets() of csrc/recipe.py.
namespace x86_64_v2 {
extern const interpreter::Isa handlers;
}
namespace x86_64_v3 {
[[gnu::weak]] extern const interpreter::Isa handlers;
}
namespace x86_64_v4 {
[[gnu::weak]] extern const interpreter::Isa handlers;
}
#else
namespace generic {
extern const interpreter::Isa handlers;
}
#endif

namespace interpreter {
namespace {

// A level of the instruction set; `handlers` is null where the build lacks it.
struct HostLevel {
    const char* name;
    const Isa* handlers;
    bool runs;
};

#if defined(__x86_64__)
std::vector<HostLevel> known_levels() {
    const Processor processor = this_processor();
    return {{"x86-64-v4", &x86_64_v4::handlers, processor.runs_v4()},
            {"x86-64-v3", &x86_64_v3::handlers, processor.runs_v3()},
            {"x86-64-v2", &x86_64_v2::handlers, processor.runs_v2()}};
}
#elif defined(__aarch64__)
std::vector<HostLevel> known_levels() { return {{"aarch64", &generic::handlers, true}}; }
#else
std::vector<HostLevel> known_levels() { return {{"generic", &generic::handlers, true}}; }
#endif

struct HostChoice {
    std::vector<const char*> levels;
    const Isa* handlers = nullptr;

    // Selects from the named level down, or from the best.
    explicit HostChoice(std::string_view best) {
        for (const HostLevel& level : known_levels()) {
            if (!level.runs || (levels.empty() && !best.empty() && best != level.name)) continue;
            levels.push_back(level.name);
            if (!handlers) handlers = level.handlers;
        }
    }
};

// Never destroyed: threads decode while the process exits.
HostChoice& host_choice() {
    static auto* const made = new HostChoice({});
    return *made;
}

}  // namespace

const Isa& isa() { return *host_choice().handlers; }

std::vector<const char*> levels() { return host_choice().levels; }

bool use_level(std::string_view name) {
    for (const HostLevel& level : known_levels())
        if (name == level.name && level.runs && level.handlers) {
            host_choice() = HostChoice(name);
            return true;
        }
    return false;
}

}  // namespace interpreter
}  // namespace cupola::cpu
