// csrc/runtime/driver/output.cpp - takes device output from the drivers, and gives it to the sink.
#include "runtime/driver/output.hpp"

#include <cstdio>

#include "runtime/driver/driver.hpp"
#include "runtime/driver/stdio_redirect.hpp"

namespace cupola {
namespace {

std::atomic<int (*)()> sink_wanted{nullptr};
std::atomic<void (*)(const char*, std::size_t)> sink_write{nullptr};

bool is_wanted() {
    const auto wanted = sink_wanted.load(std::memory_order_acquire);
    return wanted && wanted() != 0;
}

void write(const char* text, std::size_t bytes) {
    if (bytes == 0) return;
    if (const auto sink = sink_write.load(std::memory_order_acquire)) return sink(text, bytes);
    std::fwrite(text, 1, bytes, stdout);
    std::fflush(stdout);
}

// Each pointer is the CPU device's driver, or null.
const Driver* main_if_cpu() {
    const Driver* const main = main_driver_alive();
    return main && main->hold_output ? main : nullptr;
}
const Driver* cpu_device_beside() {
    const Driver* const cpu = cpu_driver_alive();
    return cpu && cpu != main_driver_alive() && cpu->hold_output ? cpu : nullptr;
}

void take(const Driver* cpu) {
    if (!cpu) return;
    std::string text;
    while (const std::size_t bytes = cpu->held_output()) {
        // The buffer has room for the line about lost text, too.
        text.resize(bytes + 256);
        text.resize(cpu->take_output(&text[0], text.size()));
        write(text.data(), text.size());
    }
}

void hold(const Driver* cpu, bool on) {
    if (cpu) cpu->hold_output(on);
}

}  // namespace

std::atomic<bool> Output::sink_set{false}, Output::prints{false};

void Output::set_sink(int (*wanted)(), void (*write)(const char*, std::size_t)) {
    if (!wanted || !write) {
        hold(main_if_cpu(), false);
        hold(cpu_device_beside(), false);
        deliver();
    }
    sink_write.store(write, std::memory_order_release);
    sink_wanted.store(wanted, std::memory_order_release);
    sink_set.store(wanted && write);
}

bool Output::is_used_in(std::string_view code) {
    return code.find("vprintf") != std::string_view::npos ||
           code.find("__assertfail") != std::string_view::npos;
}

void Output::found_printf() noexcept {
    prints.store(true);
    instrument(Driver::prints, true);
}

void Output::before_launch() {
    const bool wanted = is_wanted();
    hold(main_if_cpu(), wanted);
    hold(cpu_device_beside(), wanted);
    deliver();
}

void Output::deliver() {
    take(main_if_cpu());
    take(cpu_device_beside());
}

bool Output::Wait::begin() {
    const Driver* const main = main_driver_alive();
    return main && !main->hold_output && is_wanted() && StdioRedirect::begin();
}

void Output::Wait::end() const {
    if (redirected_) {
        const StdioRedirect::Text text = StdioRedirect::end();
        std::string found = find_assertion(text.standard_error);
        if (!found.empty()) StdioRedirect::set_assertion(found);
        Error& error = last_error();
        if (error.code == CUDA_ERROR_ASSERT && error.assertion.empty())
            error.assertion = StdioRedirect::assertion();
        std::fwrite(text.standard_error.data(), 1, text.standard_error.size(), stderr);
        write(text.output.data(), text.output.size());
    }
    deliver();
}

// FILE:LINE: FUNCTION: block: [0,0,0], thread: [1,0,0] Assertion `EXPRESSION` failed.
std::string find_assertion(std::string_view text) {
    constexpr std::string_view block = ": block: [", thread = "], thread: [",
                               expression = "] Assertion `", end = "` failed.";
    const std::size_t at_block = text.find(block), at_thread = text.find(thread, at_block),
                      at_expression = text.find(expression, at_thread),
                      at_end = text.find(end, at_expression);
    if (at_block == std::string_view::npos || at_end == std::string_view::npos) return {};
    const auto between = [&](std::size_t from, std::string_view mark, std::size_t to) {
        return std::string(text.substr(from + mark.size(), to - from - mark.size()));
    };
    std::string indices =
        between(at_block, block, at_thread) + "\n" + between(at_thread, thread, at_expression);
    for (char& each : indices)
        if (each == ',') each = ' ';
    const std::size_t begin = text.rfind('\n', at_block);
    std::string_view place = text.substr(0, at_block);
    if (begin < at_block) place.remove_prefix(begin + 1);
    // A name of a function may have colons and blanks, as in "void f(T) [with T = int]".
    for (std::size_t at = place.find(':'); at != std::string_view::npos;
         at = place.find(':', at + 1)) {
        const std::size_t after = place.find_first_not_of("0123456789", at + 1);
        if (after == at + 1 || place.substr(after, 2) != ": ") continue;
        return std::string(place.substr(0, at)) + "\n" +
               std::string(place.substr(at + 1, after - at - 1)) + "\n" +
               std::string(place.substr(after + 2)) + "\n" + indices + "\n\n" +
               between(at_expression, expression, at_end);
    }
    return {};
}

}  // namespace cupola
