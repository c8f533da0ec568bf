// csrc/runtime/work/work_plan.cpp - finds the addresses in recorded work, and queues it for others.
#include "runtime/work/work_plan.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/copy/copy.hpp"
#include "runtime/launch/launch.hpp"
#include "runtime/launch/may_wait.hpp"

namespace cupola {
namespace {

using Step = WorkRecord::Step;
constexpr std::size_t most_words = 512;  // the bytes of a launch's arguments are at most 4,096

std::vector<cupola_extent> extents_of(const WorkRecord& record, const cupola_extent* operands,
                                      std::size_t count) {
    std::vector<cupola_extent> found(operands, operands + count);
    for (const Ref<Memory>& memory : record.allocations())
        found.push_back({memory->address, memory->size});
    return found;
}

bool is_same_form(const Step& one, const Step& other) {
    return one.kind == other.kind && one.kernel.get() == other.kernel.get() &&
           !std::memcmp(&one.dimensions, &other.dimensions, sizeof one.dimensions) &&
           one.value == other.value && one.width == other.width && one.count == other.count &&
           one.words.size() == other.words.size() && one.words.size() <= most_words;
}

}  // namespace

Ref<WorkPlan> WorkPlan::of(const WorkRecord& first, const WorkRecord& second,
                           const cupola_extent* first_operands,
                           const cupola_extent* second_operands, std::size_t count) {
    if (!first.usable() || !second.usable()) return {};
    const auto here = extents_of(first, first_operands, count);
    const auto there = extents_of(second, second_operands, count);
    if (here.size() != there.size() || first.steps().size() != second.steps().size()) return {};
    for (std::size_t i = 0; i < here.size(); ++i)
        if (here[i].bytes != there[i].bytes) return {};
    auto plan = make<WorkPlan>();
    plan->places_ = here.size();
    for (std::size_t i = 0; i < first.steps().size(); ++i) {
        const Step &one = first.steps()[i], &other = second.steps()[i];
        if (!is_same_form(one, other)) return {};
        if (one.kind != Step::launch) plan->has_copies_ = true;
        Planned planned{one, {}};
        for (std::size_t word = 0; word < one.words.size(); ++word) {
            const std::uint64_t a = one.words[word], b = other.words[word];
            if (a == b) continue;
            std::size_t place = 0;
            while (place < here.size() && !(a - here[place].address <= here[place].bytes &&
                                            a - here[place].address == b - there[place].address))
                ++place;
            if (place == here.size()) return {};
            planned.step.words[word] = 0;
            planned.addresses.push_back({static_cast<std::uint32_t>(word),
                                         static_cast<std::uint32_t>(place),
                                         a - here[place].address});
        }
        plan->steps_.push_back(std::move(planned));
    }
    return plan;
}

bool WorkPlan::run(const std::uint64_t* addresses, Stream& stream, bool at_once) const {
    if (at_once && queue_may_wait(stream, static_cast<int>(steps_.size()))) return false;
    std::uint64_t words[most_words];
    const auto place = [&](const Planned& planned) {
        const auto& given = planned.step.words;
        std::copy(given.begin(), given.end(), words);
        for (const Address& one : planned.addresses)
            words[one.word] = addresses[one.place] + one.offset;
    };
    if (!has_copies_) {
        for (const Planned& planned : steps_) {
            place(planned);
            planned.step.kernel->launch(planned.step.dimensions, nullptr, words, stream);
        }
        return true;
    }
    const ContextScope current(stream.context);
    for (const Planned& planned : steps_) {
        place(planned);
        const Step& step = planned.step;
        if (step.kind == Step::launch)
            step.kernel->launch(step.dimensions, nullptr, words, stream);
        else if (step.kind == Step::fill)
            fill_linear(words[0], step.value, step.width, step.count, stream);
        else
            copy_linear(words[0], words[1], step.count, CUPOLA_ON_DEVICE, stream);
    }
    return true;
}

}  // namespace cupola
