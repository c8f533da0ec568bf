"""tests/wrapped.py - a driver for tests: the CPU device behind a library that hides or replaces
some of its functions, as an older or a failing driver would have them.
"""

from test_driver import compile_library

import cupola

SOURCE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
typedef int (*Function)();
typedef int (*Lookup)(const char*, void**, int, unsigned long long, void*);
static void* driver(void) {
    static void* library;
    if (!library) library = dlopen(REAL, RTLD_NOW | RTLD_LOCAL);
    return library;
}
/* The CPU device's own function. */
static Function real(const char* name) { return (Function)dlsym(driver(), name); }
%(source)s
int cuInit(unsigned flags) { return real("cuInit")(flags); }
/* NVRTC finds the driver by its SONAME, and crashes where this function is missing. */
int cuGetExportTable(const void** table, const void* id) {
    return real("cuGetExportTable")(table, id);
}
int cuGetProcAddress_v2(const char* name, void** address, int asked, unsigned long long flags,
                        void* found) {
    static const char* const hidden[] = {%(hidden)s 0};
    static const struct { const char* name; void* function; } replaced[] = {%(replaced)s {0, 0}};
    for (int i = 0; hidden[i]; ++i)
        if (!strcmp(name, hidden[i])) { *address = 0; return 500; }
    for (int i = 0; replaced[i].name; ++i)
        if (!strcmp(name, replaced[i].name)) { *address = replaced[i].function; return 0; }
    return ((Lookup)real("cuGetProcAddress_v2"))(name, address, asked, flags, found);
}
"""


def wrap(folder, source="", hide=(), replace=()):
    """The path of the library.

    Parameters
    ----------
    source : str
        C code with a function ``my_NAME`` for each driver function NAME in `replace`.
    hide : iterable of str
        Functions that this driver does not have.
    """
    hidden = "".join(f'"{name}", ' for name in hide)
    replaced = "".join(f'{{"{name}", (void*)my_{name}}}, ' for name in replace)
    text = SOURCE % {"source": source, "hidden": hidden, "replaced": replaced}
    flags = [f'-DREAL="{cupola.paths.cpu_driver()}"', "-ldl"]
    return compile_library(folder, "libcuda.so.1", text, *flags)
