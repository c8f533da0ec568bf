// tests/sanitizer/overflow.cpp - makes mistakes that the sanitizers must report.
#include <cstdlib>

extern "C" int read_behind(int i) {
    int* values = static_cast<int*>(std::malloc(4 * sizeof(int)));
    const int value = values[i];
    std::free(values);
    return value;
}

extern "C" int shift(int by) { return 1 << by; }

extern "C" int leak(int count) {
    int* values = static_cast<int*>(std::malloc(4 * count));
    values[0] = count;
    return values[0];
}

struct Node {
    Node* next;
    char more[84];
};

// Each of the two points to the other, so neither is a direct leak.
extern "C" int leak_cycle(int) {
    Node *one = new Node, *two = new Node;
    one->next = two, two->next = one;
    return one == two;
}

// Allocates for a Python object that is never freed.
extern "C" void* keep(int count) { return std::malloc(count); }
