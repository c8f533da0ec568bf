// csrc/cpu/device/base/operation.hpp - a piece of work in a stream.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cpu/device/base/cuda.hpp"

namespace cupola::cpu {

class Stream;

// All work submitted to `stream` up to `ticket`.
struct Mark {
    std::shared_ptr<Stream> stream;
    std::uint64_t ticket = 0;
};

struct Operation {
    virtual ~Operation() = default;
    // `status` is the context's error. Computations do nothing unless it is SUCCESS. Frees of
    // memory and notifications run in any case.
    virtual void run(CUresult status) = 0;

    // Calls the program. Not run on a thread that waits, because the call may need that thread's
    // locks.
    bool host = false;
    // May wait for other processes or streams, so it enters the quiesce gate only to access memory.
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
