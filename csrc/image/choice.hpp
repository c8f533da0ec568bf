// csrc/image/choice.hpp - the entries of an image that a device takes, best first.
#pragma once

#include <string>
#include <vector>

#include "image/image.hpp"

namespace cupola::image {

// A device and its driver, as far as they decide which entry is taken.
struct Taker {
    int capability = 0;        // 90 for 9.0
    unsigned ptx = 0;          // the newest PTX version that the driver takes; 0 for no limit
    bool machine_code = true;  // the CPU device takes PTX alone
    bool links = false;        // nvJitLink links for the device, and takes LTO-IR
};

// The newest PTX version that a driver takes (90 for 9.0), from cuDriverGetVersion's number
// (13000 for CUDA 13.0). 0 where CUDA is newer than this table.
unsigned newest_ptx(int driver_version);

// The oldest CUDA whose drivers take a PTX version, as "13.0".
std::string cuda_of_ptx(unsigned version);

// How an entry and a device fit, from best to worst.
enum class Fit {
    lto,           // LTO-IR, which only a linker takes
    architecture,  // machine code of an `a` target, for this compute capability alone
    family,        // machine code of an `f` target
    plain,         // machine code without suffix
    ptx,           // the driver compiles it
    newer_ptx,     // PTX of a version that the driver should refuse
    none,
};

struct Candidate {
    const Entry* entry = nullptr;
    Fit fit = Fit::none;
    std::string reason;  // "sm_90a is for compute capability 9.0 alone"
};

// "sm_90a" of machine code, "compute_75" of PTX, "lto_90" of LTO-IR.
std::string target_name(const Entry& entry);

Candidate judge(const Entry& entry, const Taker& taker);

// Whether devices of a compute capability run machine code for sm_`built` without suffix.
bool runs_machine_code(int built, int capability);

// The entries that fit, best first. A driver that refuses one may take the next: of a driver's
// limits only the newest PTX version is known.
std::vector<Candidate> candidates(const std::vector<Entry>& entries, const Taker& taker);

}  // namespace cupola::image
