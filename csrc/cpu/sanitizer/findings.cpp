// csrc/cpu/sanitizer/findings.cpp - counts findings and prints them.
#include "cpu/sanitizer/findings.hpp"

#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace cupola::cpu::sanitizer {
namespace {

struct Book {
    std::mutex mutex;
    std::map<std::string, std::uint64_t> met;  // number of occurrences by key
    bool keeps = false;
    std::set<std::string> kept;  // keys since the last take_findings()
    std::string text;            // their reports
};

// Never destroyed: threads outlive static objects.
Book& book() {
    static auto* const made = new Book;
    return *made;
}

const char* plural(std::uint64_t count) { return count == 1 ? "" : "s"; }

}  // namespace

bool is_news(const std::string& key) {
    Book& all = book();
    std::lock_guard lock(all.mutex);
    const bool first = ++all.met[key] == 1;
    return all.keeps ? all.kept.insert(key).second : first;
}

void write(const std::string& headline, const std::vector<std::string>& lines) {
    // Printed by one write, so that output of other threads does not split the text.
    std::string text = "========= cupola: " + headline + "\n";
    for (const std::string& line : lines) text += "=========     " + line + "\n";
    Book& all = book();
    std::lock_guard lock(all.mutex);
    if (all.keeps)
        all.text += text;
    else
        std::fputs(text.c_str(), stderr);
}

void keep_findings() {
    Book& all = book();
    std::lock_guard lock(all.mutex);
    all.keeps = true;
}

std::string take_findings() {
    Book& all = book();
    std::lock_guard lock(all.mutex);
    all.kept.clear();
    return std::exchange(all.text, {});
}

std::uint64_t findings() {
    Book& all = book();
    std::lock_guard lock(all.mutex);
    return all.met.size();
}

void summarise() {
    Book& all = book();
    std::lock_guard lock(all.mutex);
    if (all.met.empty() || all.keeps) return;
    const std::uint64_t different = all.met.size();
    std::uint64_t times = 0;
    for (const auto& [key, count] : all.met) times += count;
    const std::string text = "========= cupola: " + std::to_string(different) + " finding" +
                             plural(different) + ", met " + std::to_string(times) + " time" +
                             plural(times) + "\n";
    std::fputs(text.c_str(), stderr);
}

}  // namespace cupola::cpu::sanitizer
