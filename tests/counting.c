/* tests/counting.c - a driver that counts calls, and whose launches fail from the nth on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>
typedef int (*Lookup)(const char*, void**, int, unsigned long long, void*);
typedef int (*Launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                      void*, void**, void**);
typedef int (*Wait)(void*, void*, unsigned);
typedef int (*Allocate)(unsigned long long*, size_t, void*, void*);
typedef int (*Free)(unsigned long long, void*);

/* How many launches and allocations go well; how many streams were made to wait for another, how
 * often memory was allocated and freed, and whether to free stands still. */
int launches_left = 1 << 30, allocations_left = 1 << 30, waits, allocations, frees;
volatile int frees_closed;

static Launch real_launch;
static Wait real_wait;
static Allocate real_allocate;
static Free real_free;

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

static int allocate(unsigned long long* address, size_t size, void* pool, void* stream) {
    if (allocations_left <= 0) return 2; /* CUDA_ERROR_OUT_OF_MEMORY */
    --allocations_left;
    ++allocations;
    return real_allocate(address, size, pool, stream);
}

/* Freed memory can be allocated again. */
static int release(unsigned long long address, void* stream) {
    ++frees;
    ++allocations_left;
    while (frees_closed) usleep(1000);
    return real_free(address, stream);
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
    } else if (!strcmp(name, "cuMemAllocFromPoolAsync")) {
        real_allocate = (Allocate)*address;
        *address = (void*)allocate;
    } else if (!strcmp(name, "cuMemFreeAsync")) {
        real_free = (Free)*address;
        *address = (void*)release;
    }
    return 0;
}
