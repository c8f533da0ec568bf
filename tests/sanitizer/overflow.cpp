// tests/sanitizer/overflow.cpp - two mistakes, by which it is known that the sanitizers watch.
#include <cstdlib>

extern "C" int read_behind(int i) {
    int* values = static_cast<int*>(std::malloc(4 * sizeof(int)));
    const int value = values[i];
    std::free(values);
    return value;
}

extern "C" int shift(int by) { return 1 << by; }
