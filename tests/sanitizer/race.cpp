// tests/sanitizer/race.cpp - two threads that write one word, for ThreadSanitizer to find.
#include <thread>

namespace {
int word = 0;
}

extern "C" int race(int times) {
    const auto count = [times] {
        for (int i = 0; i < times; ++i) ++word;
    };
    std::thread other(count);
    count();
    other.join();
    return word;
}
