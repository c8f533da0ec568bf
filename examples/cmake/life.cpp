// examples/cmake/life.cpp - runs life.cu through cupola's C++ headers, and checks it.
#include <cupola/cupola.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "life_kernels.hpp"
#include "rule.hpp"

namespace {

using Cells = std::vector<unsigned char>;
constexpr int width = 64, height = 48;

Cells first_generation() {
    Cells cells(width * height);
    unsigned state = 1;
    for (auto& cell : cells) {
        state = state * 1664525u + 1013904223u;
        cell = state >> 30 == 0;
    }
    return cells;
}

Cells by_host(Cells cells, int generations) {
    Cells next(cells.size());
    for (int i = 0; i < generations; ++i) {
        for (int y = 0; y < height; ++y)
            for (int x = 0; x < width; ++x)
                next[y * width + x] = lives(cells.data(), width, height, x, y);
        cells.swap(next);
    }
    return cells;
}

Cells by_device(Cells cells, int generations) {
    cupola::stream stream;
    cupola::kernel generation(life_kernels::load(), "generation");
    cupola::memory now(cells.size(), stream.get()), next(cells.size(), stream.get());
    now.set(cells.data(), cells.size(), stream.get());
    const cupola_dimensions dimensions{{(width + 15) / 16, (height + 15) / 16, 1}, {16, 16, 1}, 0};
    cupola::event start, stop;
    start.record(stream.get());
    for (int i = 0; i < generations; ++i) {
        generation.launch(dimensions, stream.get(), now, next, width, height);
        std::swap(now, next);
    }
    stop.record(stream.get());
    now.get(cells.data(), cells.size(), stream.get());
    stream.synchronize();
    std::printf("%s: %.1f us a generation\n", cupola::device().name().c_str(),
                stop.elapsed_since(start) / generations * 1e6);
    return cells;
}

}  // namespace

int main(int count, char** arguments) {
    const int generations = count > 1 ? std::atoi(arguments[1]) : 100;
    try {
        const Cells cells = by_device(first_generation(), generations);
        int alive = 0;
        for (unsigned char cell : cells) alive += cell;
        const bool equal = cells == by_host(first_generation(), generations);
        std::printf("generation %d: %d of %d cells are alive, %s\n", generations, alive,
                    width * height, equal ? "as on the host" : "NOT as on the host");
        return equal ? 0 : 1;
    } catch (const cupola::error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
