// csrc/cpu/sanitizer/clock.cpp - joins of vector clocks for the race check.
#include "cpu/sanitizer/clock.hpp"

#include <algorithm>

namespace cupola::cpu::sanitizer {
namespace {

const Known& nothing_known() {
    static const auto* const none = new Known(std::make_shared<const Knowledge>());
    return *none;
}

void raise(Times& to, const Times& with) {
    if (to.size() < with.size()) to.resize(with.size());
    for (std::size_t n = 0; n < with.size(); ++n) to[n] = std::max(to[n], with[n]);
}
void raise(Times& to, unsigned thread, Time time) {
    if (to.size() <= thread) to.resize(thread + 1);
    to[thread] = std::max(to[thread], time);
}

bool covers(const Times& times, const Times& others) {
    for (std::size_t n = 0; n < others.size(); ++n)
        if (others[n] > (n < times.size() ? times[n] : 0)) return false;
    return true;
}

void raise(Far& to, std::uint32_t block, const std::shared_ptr<const Times>& with) {
    std::shared_ptr<const Times>& mine = to[block];
    if (mine == with || (mine && covers(*mine, *with))) return;
    if (!mine || covers(*with, *mine)) {
        mine = with;
        return;
    }
    Times both = *mine;
    raise(both, *with);
    mine = std::make_shared<const Times>(std::move(both));
}
void raise(Far& to, const Far& with) {
    for (const auto& [block, times] : with) raise(to, block, times);
}

void raise(std::shared_ptr<const Far>& to, const std::shared_ptr<const Far>& with) {
    if (!with || to == with) return;
    if (!to) {
        to = with;
        return;
    }
    Far both = *to;
    raise(both, *with);
    to = std::make_shared<const Far>(std::move(both));
}

}  // namespace

void JoinClock::add(const Known& known) {
    if (known.get() == last_) return;
    raise(all_.near, known->near);
    raise(all_.far, known->far);
    last_ = known.get();
}

void JoinClock::add(unsigned actor, Time time) { raise(all_.near, actor, time); }

void JoinClock::add(const JoinClock& other) {
    raise(all_.near, other.all_.near);
    raise(all_.far, other.all_.far);
    last_ = nullptr;
}

void JoinClock::clear() {
    all_ = {};
    last_ = nullptr;
}

void Clocks::begin(std::uint32_t block, unsigned threads) {
    block_ = block;
    threads_.assign(threads, {});
    for (Thread& t : threads_) t.known = nothing_known();
}

Time Clocks::now(unsigned actor) const {
    const Thread& t = threads_[thread_of(actor)];
    return is_copy(actor) ? t.copies.of[kind_of(actor)].now : t.time;
}

bool Clocks::is_pending(unsigned actor, Time time) const {
    return is_copy(actor) && threads_[thread_of(actor)].copies.of[kind_of(actor)].complete < time;
}

bool Clocks::knows(unsigned actor, std::uint32_t block, unsigned other, Time time) const {
    const unsigned thread = thread_of(actor);
    if (block == block_) {
        if (thread_of(other) == thread && !is_pending(other, time)) return true;
        const bool earlier = other == actor && time < now(actor);
        if (earlier && CopyClocks::in_order(kind_of(actor))) return true;
        if (other == actor && is_copy(actor) && CopyClocks::pipelined(kind_of(actor))) return true;
    }
    const Knowledge& known = *threads_[thread].known;
    const Times* times = &known.near;
    if (block != block_) {
        if (!known.far) return false;
        const auto it = known.far->find(block);
        if (it == known.far->end()) return false;
        times = it->second.get();
    }
    return other < times->size() && (*times)[other] >= time;
}

template <class F>
void Clocks::each_complete(unsigned thread, F f) const {
    for (unsigned kind = 0; kind < CopyClocks::kinds; ++kind)
        if (const Time time = threads_[thread].copies.of[kind].complete)
            f(actor(thread, static_cast<CopyClocks::Kind>(kind)), time);
}

void Clocks::join(JoinClock& meeting, unsigned thread) {
    Thread& t = threads_[thread];
    meeting.add(t.known);
    meeting.add(thread, t.time++);
    each_complete(thread, [&](unsigned copies, Time time) { meeting.add(copies, time); });
}

void Clocks::learn(unsigned thread, const Known& outcome) { threads_[thread].known = outcome; }

Known Clocks::with_copies(const Known& known, unsigned thread) const {
    std::shared_ptr<Knowledge> more;
    each_complete(thread, [&](unsigned copies, Time time) {
        if (!more) more = std::make_shared<Knowledge>(*known);
        raise(more->near, copies, time);
    });
    return more ? more : known;
}

void Clocks::leave_copies(ReleaseClock& letter, unsigned thread, CopyClocks::Kind kind) {
    const auto mine = letter.blocks.find(block_);
    Times times = mine == letter.blocks.end() ? Times() : *mine->second;
    raise(times, actor(thread, kind), threads_[thread].copies.of[kind].now++);
    letter.blocks[block_] = std::make_shared<const Times>(std::move(times));
    letter.version = ++versions_;
}

void Clocks::fence(unsigned thread) {
    Thread& t = threads_[thread];
    t.fenced = with_copies(t.known, thread);
    t.fenced_time = t.time++;
}

void Clocks::leave(ReleaseClock& letter, unsigned thread, bool all) {
    Thread& t = threads_[thread];
    const Known known = all ? with_copies(t.known, thread) : t.fenced;
    if (!known) return;
    const Time time = all ? t.time++ : t.fenced_time;
    const auto mine = letter.blocks.find(block_);
    // The entry already contains this time, and times never decrease.
    if (mine != letter.blocks.end() && mine->second->size() > thread &&
        (*mine->second)[thread] >= time)
        return;
    Times times = known->near;
    raise(times, thread, time);
    if (mine != letter.blocks.end()) raise(times, *mine->second);
    letter.blocks[block_] = std::make_shared<const Times>(std::move(times));
    if (known->far) raise(letter.blocks, *known->far);
    letter.version = ++versions_;
}

void Clocks::take(const ReleaseClock& letter, unsigned thread) {
    Thread& t = threads_[thread];
    if (t.taken == letter.version) return;
    t.taken = letter.version;
    Knowledge known = *t.known;
    Far far = known.far ? *known.far : Far();
    for (const auto& [block, times] : letter.blocks) {
        if (block == block_)
            raise(known.near, *times);
        else
            raise(far, block, times);
    }
    if (!far.empty()) known.far = std::make_shared<const Far>(std::move(far));
    t.known = std::make_shared<const Knowledge>(std::move(known));
}

}  // namespace cupola::cpu::sanitizer
