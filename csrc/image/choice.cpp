// csrc/image/choice.cpp - the rules by which devices take entries, with the tables behind them.
#include "image/choice.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace cupola::image {
namespace {

// The compute capabilities that run code of an `f` target. A target that is not listed runs on its
// own compute capability alone.
struct Family {
    int target, members[2];
};
constexpr Family families[] = {{100, {100, 103}}, {120, {120, 121}}};

// The compute capabilities of integrated GPUs (Tegra). Their machine code and that of other GPUs
// are not compatible in either direction (CUDA programming guide, "Binary Compatibility").
constexpr int integrated[] = {53, 62, 72, 87, 101, 110};

bool is_integrated(int capability) {
    return std::find(std::begin(integrated), std::end(integrated), capability) !=
           std::end(integrated);
}

// The PTX version that each CUDA release brought (table "PTX release history" of the manual).
struct Release {
    int cuda;  // 1204 for 12.4
    unsigned ptx;
};
constexpr Release releases[] = {
    {1000, 63}, {1001, 64}, {1002, 65}, {1100, 70}, {1101, 71}, {1102, 72}, {1103, 73},
    {1104, 74}, {1105, 75}, {1106, 76}, {1107, 77}, {1108, 78}, {1200, 80}, {1201, 81},
    {1202, 82}, {1203, 83}, {1204, 84}, {1205, 85}, {1207, 86}, {1208, 87}, {1209, 88},
    {1300, 90}, {1301, 91}, {1302, 92}, {1303, 93}, {1304, 94}, {1305, 95},
};

std::string dotted(int number) {
    return std::to_string(number / 10) + "." + std::to_string(number % 10);
}

std::vector<int> members(int target) {
    for (const Family& family : families)
        if (family.target == target) return {std::begin(family.members), std::end(family.members)};
    return {target};
}

bool contains(const std::vector<int>& list, int value) {
    return std::find(list.begin(), list.end(), value) != list.end();
}

std::string listed(const std::vector<int>& capabilities) {
    std::string text;
    for (const int each : capabilities) text += (text.empty() ? "" : " and ") + dotted(each);
    return text;
}

unsigned version_of(const Entry& entry) {
    if (entry.compressed) return 0;
    return heading(entry.payload).value_or(Heading()).version;
}

bool is_lto(const Entry& entry) { return entry.kind == Kind::other && entry.number == lto_ir; }

Candidate judge_ptx(const Entry& entry, const Taker& taker, const std::string& where) {
    const unsigned version = version_of(entry);
    if (taker.ptx && version > taker.ptx)
        return {&entry, Fit::newer_ptx,
                "PTX " + dotted(static_cast<int>(version)) + " needs a driver of CUDA " +
                    cuda_of_ptx(version) + " or newer"};
    return {&entry, Fit::ptx, "the driver compiles PTX for " + where};
}

}  // namespace

unsigned newest_ptx(int driver_version) {
    const int cuda = driver_version / 1000 * 100 + driver_version % 1000 / 10;
    if (cuda > std::rbegin(releases)->cuda) return 0;
    unsigned newest = releases[0].ptx;
    for (const Release& release : releases)
        if (release.cuda <= cuda) newest = release.ptx;
    return newest;
}

std::string cuda_of_ptx(unsigned version) {
    for (const Release& release : releases)
        if (release.ptx >= version)
            return std::to_string(release.cuda / 100) + "." + std::to_string(release.cuda % 100);
    return "for PTX " + dotted(static_cast<int>(version));
}

std::string target_name(const Entry& entry) {
    const char* const code = is_lto(entry) ? "lto_" : "sm_";
    const std::string prefix = entry.kind == Kind::ptx ? "compute_" : code;
    const std::string suffix = entry.variant ? std::string(1, entry.variant) : "";
    return prefix + std::to_string(entry.architecture) + suffix;
}

bool runs_machine_code(int built, int capability) {
    if (built == capability) return true;
    return built < capability && built / 10 == capability / 10 && !is_integrated(built) &&
           !is_integrated(capability);
}

Candidate judge(const Entry& entry, const Taker& taker) {
    const auto refused = [&](std::string reason) {
        return Candidate{&entry, Fit::none, std::move(reason)};
    };
    const std::string name = target_name(entry);
    const bool lto = is_lto(entry), ptx = entry.kind == Kind::ptx;
    if (lto && !taker.links) return refused(name + " is for cupola.link alone");
    if (entry.kind == Kind::other && !lto) return refused("only NVIDIA's tools read it");
    if (!lto && !ptx && !taker.machine_code) return refused("the CPU device takes PTX alone");
    if (entry.variant) {
        const std::vector<int> takers =
            entry.variant == 'f' ? members(entry.architecture) : std::vector{entry.architecture};
        const std::string where = name + " is for compute capability " + listed(takers) + " alone";
        if (!contains(takers, taker.capability)) return refused(where);
        if (lto) return {&entry, Fit::lto, where};
        if (ptx) return judge_ptx(entry, taker, name);
        return {&entry, entry.variant == 'f' ? Fit::family : Fit::architecture, where};
    }
    if (entry.architecture > taker.capability)
        return refused(name + " needs compute capability " + dotted(entry.architecture) +
                       " or newer");
    if (lto) return {&entry, Fit::lto, "nvJitLink compiles " + name};
    if (ptx) return judge_ptx(entry, taker, name);
    const bool alone = is_integrated(entry.architecture);
    const std::string takers = alone ? dotted(entry.architecture) + " alone"
                                     : std::to_string(entry.architecture / 10) + ".x";
    if (!runs_machine_code(entry.architecture, taker.capability)) {
        const bool own = is_integrated(taker.capability);
        return refused("machine code for " + name + " is for compute capability " + takers +
                       (own ? "; an integrated GPU runs only its own" : ""));
    }
    return {&entry, Fit::plain,
            "machine code for " + name + " runs on compute capability " + takers +
                (alone ? "" : " from " + dotted(entry.architecture) + " on")};
}

std::vector<Candidate> candidates(const std::vector<Entry>& entries, const Taker& taker) {
    std::vector<Candidate> found;
    for (const Entry& entry : entries)
        if (Candidate each = judge(entry, taker); each.fit != Fit::none)
            found.push_back(std::move(each));
    // PTX of an `a` or `f` target comes before plain PTX of the same number. Among equals the first
    // one of the image is the best.
    const auto order = [](const Candidate& each) {
        return std::tuple(each.fit, -each.entry->architecture, each.entry->variant == 0,
                          each.entry);
    };
    std::sort(found.begin(), found.end(),
              [&](const Candidate& a, const Candidate& b) { return order(a) < order(b); });
    return found;
}

}  // namespace cupola::image
