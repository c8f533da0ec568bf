// csrc/cpu/emitter/source.cpp - printed functions as the text of one file or several.
#include "cpu/emitter/source.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string_view>
#include <utility>

namespace cupola::cpu::compiler {
namespace {

// Bytes that take a compiler longer than the semantics' text, which each file has once more.
constexpr std::size_t worth_a_file = 40'000;

// How long a compiler takes for a function: as for so many bytes of what is straight.
std::size_t weight(const std::string& function) {
    constexpr std::size_t of_a_way = 600;
    const std::string_view way = "goto ";
    std::size_t all = function.size();
    for (std::size_t at = 0; (at = function.find(way, at)) != std::string::npos; at += way.size())
        all += of_a_way;
    return all;
}

// Which file each function goes to, so that they take as long as each other: the longest first,
// each to the file that is the shortest so far.
std::vector<std::size_t> places(const std::vector<std::string>& functions, std::size_t files) {
    std::vector<std::size_t> order(functions.size()), place(functions.size()), weights,
        sums(files, 0);
    for (const auto& function : functions) weights.push_back(weight(function));
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::make_pair(weights[b], a) < std::make_pair(weights[a], b);
    });
    for (const std::size_t n : order) {
        const auto least = std::min_element(sums.begin(), sums.end());
        place[n] = static_cast<std::size_t>(least - sums.begin());
        *least += weights[n];
    }
    return place;
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
    const std::vector<std::size_t> place = places(functions, files);
    for (std::size_t n = 0; n < functions.size(); ++n)
        all += "#if CUPOLA_FILE == " + std::to_string(place[n]) + "\n" + functions[n] + "#endif\n";
    return all;
}

std::size_t Source::files(std::size_t most) const {
    return std::clamp<std::size_t>(std::min(size() / worth_a_file, functions.size()), 1, most);
}

}  // namespace cupola::cpu::compiler
