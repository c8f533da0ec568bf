/* tests/nccl_stub_reduce.h - NCCL's reductions, in host memory. */
#include <stdint.h>
#include <string.h>

static float half_to_float(uint16_t bits) {
    _Float16 value;
    memcpy(&value, &bits, 2);
    return (float)value;
}

static uint16_t float_to_half(float value) {
    const _Float16 half = (_Float16)value;
    uint16_t bits;
    memcpy(&bits, &half, 2);
    return bits;
}

static float brain_to_float(uint16_t bits) {
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, 4);
    return value;
}

static uint16_t float_to_brain(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#define SAME(x) (x)
#define COMBINE(T, Wide, from, to)                                       \
    for (size_t i = 0; i < count; ++i) {                                 \
        Wide sum = from(((const T*)(in[0]))[i]);                         \
        for (int rank = 1; rank < ranks; ++rank) {                       \
            const Wide x = from(((const T*)(in[rank]))[i]);              \
            sum = op == 1   ? sum * x                                    \
                  : op == 2 ? (x > sum ? x : sum)                        \
                  : op == 3 ? (x < sum ? x : sum)                        \
                            : sum + x;                                   \
        }                                                                \
        ((T*)result)[i] = to((Wide)(op == 4 ? sum / (Wide)ranks : sum)); \
    }                                                                    \
    break;

/* The reduction of the first `count` elements of each rank's buffer. */
static void combine(char* result, const char* const* in, int ranks, int type, int op,
                    size_t count) {
    switch (type) {
        case 0:
            COMBINE(int8_t, int8_t, SAME, SAME)
        case 1:
            COMBINE(uint8_t, uint8_t, SAME, SAME)
        case 2:
            COMBINE(int32_t, int32_t, SAME, SAME)
        case 3:
            COMBINE(uint32_t, uint32_t, SAME, SAME)
        case 4:
            COMBINE(int64_t, int64_t, SAME, SAME)
        case 5:
            COMBINE(uint64_t, uint64_t, SAME, SAME)
        case 6:
            COMBINE(uint16_t, float, half_to_float, float_to_half)
        case 7:
            COMBINE(float, float, SAME, SAME)
        case 8:
            COMBINE(double, double, SAME, SAME)
        case 9:
            COMBINE(uint16_t, float, brain_to_float, float_to_brain)
    }
}
