// csrc/cpu/device/launch/graph_conditional.cpp - the memory of conditions, and the execution of
// bodies.
#include "cpu/device/launch/graph_conditional.hpp"

#include <new>
#include <utility>

#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"

namespace cupola::cpu {

// Device code can access this memory, and the program cannot free it.
Conditional::Conditional(std::shared_ptr<Context> context, unsigned initial, bool assign)
    : context_(std::move(context)), initial_(initial), assign_(assign) {
    Allocation like;
    like.device = context_->device().ordinal();
    like.module = true;
    address_ = context_->driver().memory.allocate(like, sizeof(ConditionalWord), 0,
                                                  context_->device().budget());
    new (reinterpret_cast<void*>(address_)) ConditionalWord;
}

Conditional::~Conditional() {
    if (DriverState::get() == CUDA_SUCCESS)
        context_->driver().memory.release(address_, context_->device().budget());
}

unsigned Conditional::value() const { return __atomic_load_n(&word().value, __ATOMIC_RELAXED); }

void Conditional::begin() {
    if (assign_) __atomic_store_n(&word().value, initial_, __ATOMIC_RELAXED);
}

std::unique_ptr<Operation> conditional_operation(const ConditionalNode& node,
                                                 std::vector<Steps> bodies) {
    return task([condition = node.condition, kind = node.kind,
                 bodies = std::move(bodies)](CUresult status) {
        Context& context = *condition->context();
        const auto goes_on = [&] {
            return context.alive() && context.error() == CUDA_SUCCESS &&
                   DriverState::get() == CUDA_SUCCESS;
        };
        const auto run = [&](const Steps& body) {
            for (const auto& step : body)
                if (goes_on()) step();
        };
        const auto choose = [&] {
            const unsigned value = condition->value();
            switch (kind) {
                case CU_GRAPH_COND_TYPE_IF:  // an optional second body is the "else"
                    if (value != 0)
                        run(bodies[0]);
                    else if (bodies.size() > 1)
                        run(bodies[1]);
                    break;
                case CU_GRAPH_COND_TYPE_WHILE:
                    while (condition->value() != 0 && goes_on()) run(bodies[0]);
                    break;
                case CU_GRAPH_COND_TYPE_SWITCH:
                    if (value < bodies.size()) run(bodies[value]);
                    break;
            }
            return CUDA_SUCCESS;
        };
        if (status != CUDA_SUCCESS) return;
        // The thread belongs to the stream, so no call can return the error.
        if (const CUresult code = result_of(choose); code != CUDA_SUCCESS)
            context.poison(code, "the body of a conditional node could not be started");
    });
}

}  // namespace cupola::cpu
