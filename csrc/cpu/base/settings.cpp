// csrc/cpu/base/settings.cpp - reads and checks the environment variables of the CPU device.
#include "cpu/base/settings.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string_view>
#include <utility>

#include "platform/environment.hpp"

namespace cupola::cpu {
namespace {

bool whole(const char* name, std::uint64_t low, std::uint64_t high, int& out, std::string& error) {
    auto value = static_cast<std::uint64_t>(out);
    if (!environment::read_whole(name, low, high, value, error)) return false;
    out = static_cast<int>(value);
    return true;
}

// Accepts only capabilities whose limits are in capability.cpp.
bool known_capability(const char* name, int& out, std::string& error) {
    const std::string_view text = environment::text_of(name);
    if (text.empty()) return true;
    static constexpr std::uint64_t known[] = {50, 52, 60, 61,  70,  75,  80,  86,
                                              87, 89, 90, 100, 103, 110, 120, 121};
    std::string digits(text);
    const auto dot = digits.find('.');
    if (dot != std::string::npos && dot + 2 == digits.size()) digits.erase(dot, 1);
    std::string_view rest = digits;
    std::uint64_t value = 0;
    if (environment::take_digits(rest, value) && rest.empty() &&
        std::find(std::begin(known), std::end(known), value) != std::end(known)) {
        out = static_cast<int>(value);
        return true;
    }
    std::string expected = "a compute capability, one of";
    for (const std::uint64_t each : known)
        expected += " " + std::to_string(each / 10) + "." + std::to_string(each % 10);
    error = environment::refusal(name, text, expected);
    return false;
}

bool known_mode(const char* name, Mode& out, std::string& error) {
    const std::string_view text = environment::text_of(name);
    if (text.empty()) return true;
    for (const auto& [word, meant] :
         {std::pair("interpret", Mode::interpret), std::pair("ahead", Mode::ahead),
          std::pair("quick", Mode::quick), std::pair("compile", Mode::compile),
          std::pair("auto", Mode::automatic)})
        if (text == word) {
            out = meant;
            return true;
        }
    error = environment::refusal(name, text, "interpret, ahead, quick, compile or auto");
    return false;
}

// Reads words separated by commas.
bool known_checks(const char* name, Checks& out, std::string& error) {
    const std::string_view all = environment::text_of(name);
    if (all.empty()) return true;
    for (std::size_t from = 0; from <= all.size();) {
        const std::size_t comma = std::min(all.find(',', from), all.size());
        const std::string_view word = all.substr(from, comma - from);
        const bool every = word == "all";
        if (!every && word != "memory" && word != "race" && word != "init" && word != "sync") {
            error = environment::refusal(
                name, all, "memory, race, init, sync, several of them with commas between, or all");
            return false;
        }
        out.memory |= every || word == "memory";
        out.race |= every || word == "race";
        out.init |= every || word == "init";
        out.sync |= every || word == "sync";
        from = comma + 1;
    }
    return true;
}

// Accepts 0 and 1.
bool known_flag(const char* name, bool& out, std::string& error) {
    int value = out;
    if (!whole(name, 0, 1, value, error)) return false;
    out = value != 0;
    return true;
}

// Absent where the variable is not set.
bool known_seed(const char* name, std::optional<std::uint64_t>& out, std::string& error) {
    if (environment::text_of(name).empty()) return true;
    std::uint64_t value = 0;
    if (!environment::read_whole(name, 0, ~std::uint64_t{0}, value, error)) return false;
    out = value;
    return true;
}

int available_cores() {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
    return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

// A control group may allow less memory than the machine has, and exceeding it invokes the OOM
// killer.
std::size_t physical_memory() {
    std::size_t bytes = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
                        static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    for (const char* path :
         {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
        if (std::FILE* file = std::fopen(path, "r")) {
            unsigned long long limit = 0;
            if (std::fscanf(file, "%llu", &limit) == 1 && limit > 0)
                bytes = std::min<std::size_t>(bytes, limit);
            std::fclose(file);
        }
    }
    return bytes;
}

}  // namespace

bool Settings::read(Settings& settings, std::string& error) {
    settings.threads = available_cores();
    settings.memory = physical_memory() / 2;
    settings.debugger = environment::text_of("CUPOLA_CPU_DEBUG");
    settings.coverage = environment::text_of("CUPOLA_CPU_COVERAGE");
    settings.level = environment::text_of("CUPOLA_CPU_LEVEL");
    return whole("CUPOLA_CPU_DEVICES", 1, 64, settings.devices, error) &&
           whole("CUPOLA_CPU_THREADS", 1, 1024, settings.threads, error) &&
           known_mode("CUPOLA_CPU_MODE", settings.mode, error) &&
           known_capability("CUPOLA_CPU_COMPUTE_CAPABILITY", settings.capability, error) &&
           known_flag("CUPOLA_CPU_FMA", settings.fma, error) &&
           known_flag("CUPOLA_CPU_INTEGRATED", settings.integrated, error) &&
           environment::read_seconds("CUPOLA_CPU_TIMEOUT", settings.timeout, error) &&
           known_seed("CUPOLA_CPU_SEED", settings.seed, error) &&
           known_checks("CUPOLA_CPU_CHECK", settings.checks, error);
}

}  // namespace cupola::cpu
