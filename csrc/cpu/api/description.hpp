// csrc/cpu/api/description.hpp - properties of a device that work without cuInit: the interface
// between libcuda.so.1 and libnvidia-ml.so.1.
#pragma once

extern "C" {

struct cupola_cpu_description {
    int count;           // number of devices
    int driver_version;  // as in cuDriverGetVersion
    int major, minor;    // compute capability
    int domain, bus;     // PCI address
    // In bytes; `free` is the memory that this process may still allocate.
    unsigned long long total, free;
    unsigned char uuid[16];
    char name[256];
};

// Returns 0, or a CUresult if an environment variable is malformed or the device does not exist.
// The call neither starts nor needs the driver, and works in a forked child.
int cupola_cpu_describe(int ordinal, cupola_cpu_description* description);
}
