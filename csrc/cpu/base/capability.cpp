// csrc/cpu/base/capability.cpp - one row for each compute capability.
#include "cpu/base/capability.hpp"

namespace cupola::cpu {

const Capability& Capability::of(int number) {
    static constexpr int K = 1024;
    static constexpr Capability table[] = {
        {50, 2048, 32, 64 * K, 48 * K, 0, 65536},    {52, 2048, 32, 96 * K, 48 * K, 0, 65536},
        {60, 2048, 32, 64 * K, 48 * K, 0, 65536},    {61, 2048, 32, 96 * K, 48 * K, 0, 65536},
        {70, 2048, 32, 96 * K, 96 * K, 0, 65536},    {75, 1024, 16, 64 * K, 64 * K, 0, 65536},
        {80, 2048, 32, 164 * K, 163 * K, K, 65536},  {86, 1536, 16, 100 * K, 99 * K, K, 65536},
        {87, 1536, 16, 164 * K, 163 * K, K, 65536},  {89, 1536, 24, 100 * K, 99 * K, K, 65536},
        {90, 2048, 32, 228 * K, 227 * K, K, 65536},  {100, 2048, 32, 228 * K, 227 * K, K, 65536},
        {103, 2048, 32, 228 * K, 227 * K, K, 65536}, {110, 1536, 24, 228 * K, 227 * K, K, 65536},
        {120, 1536, 24, 100 * K, 99 * K, K, 65536},  {121, 1536, 24, 100 * K, 99 * K, K, 65536},
    };
    for (const Capability& row : table)
        if (row.number == number) return row;
    return table[10];
}

}  // namespace cupola::cpu
