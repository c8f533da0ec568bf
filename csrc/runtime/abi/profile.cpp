// csrc/runtime/abi/profile.cpp - the functions of cupola/profile.h.
#include "cupola/profile.h"

#include <memory>
#include <vector>

#include "runtime/base/intern.hpp"
#include "runtime/profile/profile.hpp"

using namespace cupola;

namespace {

std::vector<std::unique_ptr<Span>>& open_spans() {
    thread_local std::vector<std::unique_ptr<Span>> spans;
    return spans;
}

}  // namespace

int cupola_profile_start(int ranges, cupola_profile** out) {
    return guard([&] {
        check_not_null(out, "out");
        *out = wrap(make<Profile>(ranges != 0).detach());
    });
}

int cupola_profile_stop(cupola_profile* profile) {
    return guard([&] { unwrap(check_not_null(profile, "profile"))->stop(); });
}

size_t cupola_profile_count(const cupola_profile* profile) {
    return profile ? unwrap(profile)->records.size() : 0;
}

int cupola_profile_get(const cupola_profile* profile, size_t index, cupola_profile_record* out) {
    return guard([&] {
        const Profile& p = *unwrap(check_not_null(profile, "profile"));
        check_not_null(out, "out");
        if (index >= p.records.size())
            fail(CUPOLA_ERROR_VALUE, "there is no record " + std::to_string(index));
        const Record& r = p.records[index];
        const auto since = [&](auto time) {
            return (static_cast<double>(time) - static_cast<double>(p.started)) * 1e-9;
        };
        *out = {r.kind,
                r.name,
                r.context ? r.context->ordinal : -1,
                r.stream,
                r.thread,
                since(r.call_begin),
                since(r.call_end),
                since(r.begin),
                since(r.end),
                r.bytes,
                r.dimensions};
    });
}

void cupola_profile_release(cupola_profile* profile) {
    if (profile) unwrap(profile)->release();
}

int cupola_profile_begin(const char* name) {
    return guard([&] {
        open_spans().push_back(std::make_unique<Span>(
            CUPOLA_PROFILE_RANGE, intern(check_not_null(name, "name")), nullptr));
    });
}

int cupola_profile_end() {
    return guard([&] {
        if (open_spans().empty())
            fail(CUPOLA_ERROR_VALUE, "this thread has no range to end: begin one first");
        open_spans().pop_back();
    });
}
