// csrc/cpu/settings.cpp - reading and checking the environment variables of the CPU device.
#include "cpu/settings.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "cpu/exec/levels.hpp"

namespace cupola::cpu {
namespace {

const char* variable(const char* name) {
    const char* value = std::getenv(name);
    return value && *value ? value : nullptr;
}

bool whole(const char* name, int low, int high, int& out, std::string& error) {
    const char* text = variable(name);
    if (!text) return true;
    char* end = nullptr;
    errno = 0;
    const long value = std::strtol(text, &end, 10);
    if (errno || *end || value < low || value > high) {
        error = std::string(name) + "='" + text + "': a whole number from " + std::to_string(low) +
                " to " + std::to_string(high) + " is wanted";
        return false;
    }
    out = static_cast<int>(value);
    return true;
}

bool seconds(const char* name, double& out, std::string& error) {
    const char* text = variable(name);
    if (!text) return true;
    char* end = nullptr;
    const double value = std::strtod(text, &end);
    if (end == text || *end || !std::isfinite(value) || value < 0) {
        error = std::string(name) + "='" + text + "': a number of seconds, zero or more, is wanted";
        return false;
    }
    out = value;
    return true;
}

// Only capabilities whose limits (capability.cpp) are known: any other would be made up.
bool known_capability(const char* name, int& out, std::string& error) {
    const char* text = variable(name);
    if (!text) return true;
    static constexpr int known[] = {50, 52, 60, 61, 70, 75, 80, 86, 87, 89, 90, 100, 103, 120};
    std::string digits = text;
    const auto dot = digits.find('.');
    if (dot != std::string::npos && dot + 2 == digits.size()) digits.erase(dot, 1);
    char* end = nullptr;
    const long value = std::strtol(digits.c_str(), &end, 10);
    if (!std::isdigit(static_cast<unsigned char>(digits[0])) || *end ||
        std::find(std::begin(known), std::end(known), value) == std::end(known)) {
        error = std::string(name) + "='" + text + "': a compute capability is wanted, one of";
        for (const int each : known)
            error += " " + std::to_string(each / 10) + "." + std::to_string(each % 10);
        return false;
    }
    out = static_cast<int>(value);
    return true;
}

bool known_mode(const char* name, native::Mode& out, std::string& error) {
    const char* text = variable(name);
    if (!text) return true;
    for (const auto& [word, meant] :
         {std::pair("interpret", native::Mode::interpret), std::pair("ahead", native::Mode::ahead),
          std::pair("compile", native::Mode::compile), std::pair("auto", native::Mode::automatic)})
        if (std::strcmp(text, word) == 0) {
            out = meant;
            return true;
        }
    error = std::string(name) + "='" + text + "': interpret, ahead, compile or auto is wanted";
    return false;
}

// Words with commas between them.
bool known_checks(const char* name, watch::Checks& out, std::string& error) {
    const char* text = variable(name);
    if (!text) return true;
    const std::string_view all = text;
    for (std::size_t from = 0; from <= all.size();) {
        const std::size_t comma = std::min(all.find(',', from), all.size());
        const std::string_view word = all.substr(from, comma - from);
        const bool every = word == "all";
        if (!every && word != "memory" && word != "race" && word != "init" && word != "sync") {
            error = std::string(name) + "='" + text +
                    "': memory, race, init, sync, several of them with commas between, or all is "
                    "wanted";
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

bool known_level(const char* name, std::string& error) {
    const char* text = variable(name);
    if (!text || exec::use_level(text)) return true;
    error =
        std::string(name) + "='" + text +
        "': a level of the instruction set that this build has and the processor runs is wanted";
    return false;
}

int available_cores() {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
    return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

// A control group may grant less than the machine has; passing it wakes the OOM killer all the
// same.
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
    return whole("CUPOLA_CPU_DEVICES", 1, 64, settings.devices, error) &&
           whole("CUPOLA_CPU_THREADS", 1, 1024, settings.threads, error) &&
           known_level("CUPOLA_CPU_LEVEL", error) &&
           known_mode("CUPOLA_CPU_MODE", settings.mode, error) &&
           known_capability("CUPOLA_CPU_COMPUTE_CAPABILITY", settings.capability, error) &&
           seconds("CUPOLA_CPU_TIMEOUT", settings.timeout, error) &&
           known_checks("CUPOLA_CPU_CHECK", settings.checks, error);
}

}  // namespace cupola::cpu
