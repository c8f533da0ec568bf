// csrc/cpu/emitter/source.cpp - emitted functions as the text of one file or several.
#include "cpu/emitter/source.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string_view>
#include <utility>

namespace cupola::cpu::compiler {
namespace {

// Each file repeats the text of the semantics. A file of this many bytes takes a compiler longer
// than that text does.
constexpr std::size_t min_file_bytes = 40'000;

// An estimate of the time to compile a function: its bytes, and some for each branch.
std::size_t weight(const std::string& function) {
    constexpr std::size_t branch_weight = 600;
    const std::string_view jump = "goto ";
    std::size_t all = function.size();
    for (std::size_t at = 0; (at = function.find(jump, at)) != std::string::npos; at += jump.size())
        all += branch_weight;
    return all;
}

// The file of each function. Balances the files: the heaviest function first, each into the file
// that is the lightest so far.
std::vector<std::size_t> assign_files(const std::vector<std::string>& functions,
                                      std::size_t files) {
    std::vector<std::size_t> order(functions.size()), file_of(functions.size()), weights,
        sums(files, 0);
    for (const auto& function : functions) weights.push_back(weight(function));
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::make_pair(weights[b], a) < std::make_pair(weights[a], b);
    });
    for (const std::size_t n : order) {
        const auto least = std::min_element(sums.begin(), sums.end());
        file_of[n] = static_cast<std::size_t>(least - sums.begin());
        *least += weights[n];
    }
    return file_of;
}

}  // namespace

std::size_t Source::size() const {
    std::size_t bytes = common.size();
    for (const auto& function : functions) bytes += function.size();
    return bytes;
}

void Source::add(Source more) {
    common += more.common;
    std::move(more.functions.begin(), more.functions.end(), std::back_inserter(functions));
}

std::string Source::text(std::size_t files) const {
    std::string all = common;
    if (files == 1) {
        for (const auto& function : functions) all += function;
        return all;
    }
    const std::vector<std::size_t> file_of = assign_files(functions, files);
    for (std::size_t n = 0; n < functions.size(); ++n)
        all +=
            "#if CUPOLA_FILE == " + std::to_string(file_of[n]) + "\n" + functions[n] + "#endif\n";
    return all;
}

std::size_t Source::files(std::size_t most) const {
    return std::clamp<std::size_t>(std::min(size() / min_file_bytes, functions.size()), 1, most);
}

}  // namespace cupola::cpu::compiler
