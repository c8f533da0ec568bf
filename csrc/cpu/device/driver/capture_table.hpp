// csrc/cpu/device/driver/capture_table.hpp - the captures that have begun and not ended.
#pragma once

#include <atomic>
#include <vector>

namespace cupola::cpu {

class Capture;

struct CaptureTable {
    std::vector<Capture*> all;   // guarded by Driver::graph_mutex
    std::atomic<int> active{0};  // the number of captures, which calls read without the lock
};

}  // namespace cupola::cpu
