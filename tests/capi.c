/* tests/capi.c - a C program that knows libcupola.so by dlopen and cupola.h alone. Compiled and run
 * by test_capi.py: argv[1] is the library, argv[2] a PTX file with the kernel `scale`. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cupola/cupola.h"

static void* library;
static const char* (*last_error)(void);

static void* symbol(const char* name) {
    void* address = dlsym(library, name);
    if (!address) {
        fprintf(stderr, "no symbol %s\n", name);
        exit(2);
    }
    return address;
}

#define BIND(function)                 \
    __typeof__(function)* function##_; \
    *(void**)(&function##_) = symbol(#function)

static void check(int status, const char* what) {
    if (status == CUPOLA_SUCCESS) return;
    fprintf(stderr, "%s: status %d: %s\n", what, status, last_error());
    exit(3);
}

static char* read_all(const char* path, size_t* size) {
    FILE* file = fopen(path, "rb");
    if (!file) exit(4);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    char* bytes = malloc(*size);
    if (fread(bytes, 1, *size, file) != *size) exit(4);
    fclose(file);
    return bytes;
}

static void shipped(void) {
    BIND(cupola_saxpy);
    float x[5] = {1, 2, 3, 4, 5}, y[5] = {10, 20, 30, 40, 50}, out[5] = {0};
    check(cupola_saxpy_(2, x, y, out, 5), "saxpy");
    for (int i = 0; i < 5; ++i) printf("%g ", (double)out[i]);
    printf("\n");

    BIND(cupola_mandelbrot);
    float lattice[3] = {-2, 0, 2}, graph[9];
    check(cupola_mandelbrot_(lattice, graph, 50, 2, 3), "mandelbrot");
    for (int i = 0; i < 9; ++i) printf("%g ", (double)graph[i]);
    printf("\n");

    BIND(cupola_convolve);
    float image[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, filter[9] = {0, 0, 0, 0, 0, 1, 0, 0, 0};
    float result[9];
    check(cupola_convolve_(image, filter, result, 3, 3, 1, 3, 3, CUPOLA_BORDER_ZERO), "convolve");
    for (int i = 0; i < 9; ++i) printf("%g ", (double)result[i]);
    printf("\n");

    BIND(cupola_last_error_info);
    int status = cupola_convolve_(image, filter, result, 3, 3, 1, 2, 3, CUPOLA_BORDER_ZERO);
    cupola_error_info info;
    cupola_last_error_info_(&info);
    printf("%d %d %s\n", status, info.status, info.text);
}

static void own_kernel(const char* path) {
    BIND(cupola_module_load);
    BIND(cupola_module_kernel);
    BIND(cupola_memory_allocate);
    BIND(cupola_memory_address);
    BIND(cupola_copy_to_device);
    BIND(cupola_copy_to_host);
    BIND(cupola_argument_pointer);
    BIND(cupola_argument_float);
    BIND(cupola_argument_int);
    BIND(cupola_launch);
    BIND(cupola_device_synchronize);
    BIND(cupola_memory_release);
    BIND(cupola_module_release);
    BIND(cupola_kernel_release);

    size_t size;
    char* image = read_all(path, &size);
    cupola_module* module;
    cupola_kernel* kernel;
    cupola_memory* memory;
    check(cupola_module_load_(0, image, size, &module), "load");
    free(image);
    check(cupola_module_kernel_(module, "scale", &kernel), "kernel");
    cupola_module_release_(module); /* the kernel keeps it */

    float values[4] = {1, 2, 3, 4};
    check(cupola_memory_allocate_(0, sizeof values, NULL, &memory), "allocate");
    uint64_t address = cupola_memory_address_(memory);
    check(cupola_copy_to_device_(address, values, sizeof values, NULL), "to device");
    char buffer[64];
    check(cupola_argument_pointer_(kernel, buffer, 0, address), "argument 0");
    check(cupola_argument_float_(kernel, buffer, 1, 1.5), "argument 1");
    check(cupola_argument_int_(kernel, buffer, 2, 4), "argument 2");
    cupola_dimensions one = {{1, 1, 1}, {4, 1, 1}, 0};
    check(cupola_launch_(kernel, &one, NULL, buffer, NULL), "launch");
    check(cupola_copy_to_host_(values, address, sizeof values, NULL), "to host");
    check(cupola_device_synchronize_(0), "synchronize");
    for (int i = 0; i < 4; ++i) printf("%g ", (double)values[i]);
    printf("\n");

    int status = cupola_argument_int_(kernel, buffer, 2, 1ll << 40);
    printf("%d %s\n", status, last_error());
    one.block[0] = 0;
    status = cupola_launch_(kernel, &one, NULL, buffer, NULL);
    printf("%d %s\n", status, last_error());
    cupola_memory_release_(memory);
    cupola_kernel_release_(kernel);
    cupola_kernel_release_(NULL);
}

int main(int argc, char** argv) {
    if (argc != 3) return 1;
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    *(void**)(&last_error) = symbol("cupola_last_error");
    BIND(cupola_abi_version);
    printf("%d\n", cupola_abi_version_() == CUPOLA_ABI_VERSION);
    shipped();
    own_kernel(argv[2]);
    return 0;
}
