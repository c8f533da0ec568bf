// csrc/runtime/abi/work.cpp - the functions of cupola/work.h.
#include "cupola/work.h"

#include "cupola/launch.h"
#include "runtime/work/work_plan.hpp"

using namespace cupola;

int cupola_work_begin(cupola_stream* stream, int skip, cupola_work** out) {
    return guard([&] {
        check_not_null(out, "out");
        *out = nullptr;
        Stream& s = *unwrap(check_not_null(stream, "stream"));
        s.context.driver.get();  // a forked child must not get further
        auto record = make<WorkRecord>(s, skip != 0);
        if (record->start()) *out = wrap(record.detach());
    });
}

void cupola_work_end(cupola_work* work) {
    if (work) unwrap(work)->stop();
}

void cupola_work_release(cupola_work* work) {
    if (work) unwrap(work)->release();
}

void cupola_work_refuse(void) { WorkObserver::refuse_current(); }

int cupola_work_usable(const cupola_work* work) { return work && unwrap(work)->usable(); }

size_t cupola_work_allocations(const cupola_work* work) {
    return work ? unwrap(work)->allocations().size() : 0;
}

int cupola_work_allocation(const cupola_work* work, size_t index, cupola_extent* out) {
    return guard([&] {
        const auto& all = unwrap(check_not_null(work, "work"))->allocations();
        check_not_null(out, "out");
        if (index >= all.size())
            fail(CUPOLA_ERROR_VALUE, "the work has " + std::to_string(all.size()) +
                                         " allocations, got the index " + std::to_string(index));
        *out = {all[index]->address, all[index]->size};
    });
}

int cupola_work_plan_create(const cupola_work* first, const cupola_work* second,
                            const cupola_extent* first_operands,
                            const cupola_extent* second_operands, size_t count,
                            cupola_work_plan** out) {
    return guard([&] {
        const WorkRecord& one = *unwrap(check_not_null(first, "first"));
        const WorkRecord& other = *unwrap(check_not_null(second, "second"));
        if (count) check_not_null(first_operands, "first_operands");
        if (count) check_not_null(second_operands, "second_operands");
        check_not_null(out, "out");
        *out = wrap(WorkPlan::of(one, other, first_operands, second_operands, count).detach());
    });
}

void cupola_work_plan_release(cupola_work_plan* plan) {
    if (plan) unwrap(plan)->release();
}

[[gnu::hot]] int cupola_work_plan_run(cupola_work_plan* plan, const uint64_t* addresses,
                                      size_t count, cupola_stream* stream, int at_once) {
    bool done = true;
    const int status = guard([&] {
        const WorkPlan& planned = *unwrap(check_not_null(plan, "plan"));
        Stream& s = *unwrap(check_not_null(stream, "stream"));
        if (count != planned.places())
            fail(CUPOLA_ERROR_VALUE, "the plan takes " + std::to_string(planned.places()) +
                                         " addresses, got " + std::to_string(count));
        if (count) check_not_null(addresses, "addresses");
        s.context.driver.get();  // a forked child must not get further
        done = planned.run(addresses, s, at_once != 0);
    });
    return done ? status : CUPOLA_WOULD_WAIT;
}
