// csrc/region.cuh - a part of a plate; heat/__init__.py has the same as a NumPy dtype.
#pragma once

struct Region {
    int row, column;    // the first row and column
    int rows, columns;  // how far it goes
};
