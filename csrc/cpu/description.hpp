// csrc/cpu/description.hpp - what can be asked about a device without cuInit: the interface between
// libcuda.so.1 and the libnvidia-ml.so.1 beside it.
#pragma once

extern "C" {

struct cupola_cpu_description {
    int count;                       // of devices
    int driver_version;              // cuDriverGetVersion's
    int major, minor;                // compute capability
    int domain, bus;                 // of its PCI address
    unsigned long long total, free;  // bytes; what is free is as this process sees it
    unsigned char uuid[16];
    char name[256];
};

// 0, or a CUresult: the environment's settings are malformed, or there is no such device. Neither
// starts the driver nor needs it, and serves in a forked child too.
int cupola_cpu_describe(int ordinal, cupola_cpu_description* description);
}
