// csrc/dropin/recorder/settings.cpp - reads the settings from the environment.
#include "dropin/recorder/settings.hpp"

#include <cstdio>

#include "platform/demangle.hpp"
#include "platform/environment.hpp"

namespace cupola::recorder {
namespace {

bool read_launches(std::string_view text, Settings& made, std::string& error) {
    if (text.empty()) return true;
    std::string_view rest = text;
    std::uint64_t first = 0, end = made.end;
    bool good = environment::take_digits(rest, first) && !rest.empty() && rest[0] == ':';
    if (good) {
        rest.remove_prefix(1);
        good = rest.empty() || (environment::take_digits(rest, end) && rest.empty());
    }
    made.first = first;
    made.end = end;
    if (!good) error = environment::refusal("CUPOLA_RECORD_LAUNCHES", text, "A:B, as in 0:3");
    return good;
}

bool read_pattern(Settings& made, std::string& error) {
    made.text = environment::text_of("CUPOLA_RECORD_KERNELS");
    if (made.text.empty()) return true;
    try {
        made.kernels.assign(made.text, std::regex::ECMAScript | std::regex::optimize);
    } catch (const std::regex_error& reason) {
        error = environment::refusal("CUPOLA_RECORD_KERNELS", made.text,
                                     std::string("a regular expression: ") + reason.what());
        return false;
    }
    return true;
}

}  // namespace

bool Settings::matches(const std::string& name) const {
    if (text.empty()) return true;
    try {
        return std::regex_search(name, kernels) || std::regex_search(title(name), kernels);
    } catch (const std::regex_error&) {  // the name is too complex for the pattern
        return false;
    }
}

const Settings& settings() {
    static const Settings* const made = [] {
        auto* const read = new Settings;
        std::string error;
        std::uint64_t fault = 0;
        read->spool = environment::text_of("CUPOLA_RECORD_SPOOL");
        const bool good =
            read_pattern(*read, error) &&
            read_launches(environment::text_of("CUPOLA_RECORD_LAUNCHES"), *read, error) &&
            environment::read_bytes("CUPOLA_RECORD_LIMIT", read->limit, error) &&
            environment::read_whole("CUPOLA_RECORD_FAULT", 0, 1, fault, error);
        read->fault = fault != 0;
        if (!good) {
            std::fprintf(stderr, "cupola: %s; nothing is recorded\n", error.c_str());
            read->spool.clear();
        }
        return read;
    }();
    return *made;
}

}  // namespace cupola::recorder
