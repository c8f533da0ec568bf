// csrc/cpu/operation.hpp - one piece of work in a stream.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cpu/cuda.hpp"

namespace cupola::cpu {

class Stream;

// "All that was put on `stream` up to `ticket`."
struct Mark {
    std::shared_ptr<Stream> stream;
    std::uint64_t ticket = 0;
};

struct Operation {
    virtual ~Operation() = default;
    // `status` is the context's error. What computes does nothing unless it is SUCCESS; what gives
    // back memory or tells somebody runs in any case.
    virtual void run(CUresult status) = 0;

    // Calls the program back: never on a thread that only waits, whose locks the call may need.
    bool host = false;
    // May wait for other processes or streams, and passes the gate itself where it touches memory.
    bool aside = false;
    Operation* next = nullptr;
    std::uint64_t ticket = 0;
    std::vector<Mark> waits;
};

template <class Body>
struct Task final : Operation {
    explicit Task(Body body) : body_(std::move(body)) {}
    void run(CUresult status) override { body_(status); }

  private:
    Body body_;
};

template <class Body>
std::unique_ptr<Operation> task(Body body) {
    return std::make_unique<Task<Body>>(std::move(body));
}

}  // namespace cupola::cpu
