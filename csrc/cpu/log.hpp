// csrc/cpu/log.hpp - what the driver has to say beside the results of calls: why PTX was refused,
// and what a kernel did wrong. It is kept for the program to read, and told to who asked for it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "cpu/cuda.hpp"

namespace cupola::cpu {

class Log {
  public:
    static constexpr std::size_t room = 25600;  // bytes, as cuda.h says; older lines go

    static Log& get();
    void error(const std::string& text);

    CUlogsCallbackHandle add(CUlogsCallback call, void* data);
    void remove(CUlogsCallbackHandle handle);  // INVALID_VALUE where it is none

    // Lines are numbered; the number of the next.
    std::uint32_t next() const;
    // The lines from a number on (null: all) that fit into so many bytes, the latest ones; the
    // number is the next one then. Where some are left out, the first line says so. INVALID_VALUE
    // where there are lines and none fits.
    std::string lines(std::uint32_t* from, std::size_t most) const;

  private:
    struct Listener {
        CUlogsCallback call;
        void* data;
    };
    mutable std::mutex mutex_;
    std::deque<std::string> lines_;
    std::size_t bytes_ = 0;
    std::uint32_t next_ = 0;  // goes round
    std::map<const void*, std::shared_ptr<Listener>> listeners_;
};

}  // namespace cupola::cpu
