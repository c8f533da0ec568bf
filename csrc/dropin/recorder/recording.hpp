// csrc/dropin/recorder/recording.hpp - records one launch.
#pragma once

#include <mutex>
#include <string>

#include "dropin/recorder/functions.hpp"
#include "dropin/recorder/memory.hpp"

namespace cupola::recorder {

// A launch as the program made it.
struct Call {
    unsigned grid[3], block[3], shared;
    void** parameters;  // the address of each argument, or null
    void** extra;       // one buffer with all arguments
    const CUlaunchAttribute* attributes = nullptr;
    unsigned attribute_count = 0;
    bool cooperative = false;
};

// Reads what a replay needs before the launch, and in `finish` what it wrote. Where the launch is
// not chosen, both do nothing. Between them, no other launch is recorded.
//
// The launch is in the spool before it begins. With the setting `fault`, it is kept in memory, and
// written if it failed.
class Recording {
  public:
    Recording(Function& function, const void* handle, const Call& call);
    CUresult finish(CUresult result);

  private:
    bool is_chosen();
    bool take(const void* handle, const Call& call);
    bool pack(const void* handle, const Call& call);
    bool take_contents();
    bool write();
    void finish_launch(CUresult error);

    Function& function_;
    std::unique_lock<std::mutex> lock_;
    Memory memory_;
    std::vector<Parameter> parameters_;
    std::string packed_, shape_;  // the arguments; grid, block and attributes as the spool has them
    bool began_ = false;
};

// The stream captures of this process that have begun and not ended.
void count_captures(int change);
// Counts a launch of a graph, without a lock.
void count_graph_launch();

}  // namespace cupola::recorder
