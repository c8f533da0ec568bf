/* tests/failing.c - stands for a driver whose launches fail from the nth on, and counts waits. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
typedef int (*Lookup)(const char*, void**, int, unsigned long long, void*);
typedef int (*Launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                      void*, void**, void**);
typedef int (*Wait)(void*, void*, unsigned);

/* How many launches go well; how many streams were made to wait for another. */
int launches_left = 1 << 30, waits;

static Launch real_launch;
static Wait real_wait;

static void* real(const char* name) {
    static void* driver;
    if (!driver) driver = dlopen(REAL, RTLD_NOW | RTLD_LOCAL);
    return dlsym(driver, name);
}

static int launch(void* kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                  unsigned bz, unsigned shared, void* stream, void** arguments, void** extra) {
    if (launches_left-- <= 0) return 701; /* CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES */
    return real_launch(kernel, gx, gy, gz, bx, by, bz, shared, stream, arguments, extra);
}

static int wait(void* stream, void* event, unsigned flags) {
    ++waits;
    return real_wait(stream, event, flags);
}

int cuInit(unsigned flags) { return ((int (*)(unsigned))real("cuInit"))(flags); }

int cuGetProcAddress_v2(const char* name, void** address, int asked, unsigned long long flags,
                        void* found) {
    int code = ((Lookup)real("cuGetProcAddress_v2"))(name, address, asked, flags, found);
    if (code) return code;
    if (!strcmp(name, "cuLaunchKernel")) {
        real_launch = (Launch)*address;
        *address = (void*)launch;
    } else if (!strcmp(name, "cuStreamWaitEvent")) {
        real_wait = (Wait)*address;
        *address = (void*)wait;
    }
    return 0;
}
