/* examples/cython_hello/launcher.c - a library that is chosen when the program runs.
 *
 * Nothing of cupola is needed to compile it: CUPOLA_LIBRARY names the library, dlsym finds the
 * launcher in it. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef int (*hello_function)(unsigned blocks, unsigned threads);

static hello_function find_hello(void) {
    const char* path = getenv("CUPOLA_LIBRARY");
    if (!path) {
        fprintf(stderr, "CUPOLA_LIBRARY is not set: python -m cupola paths --library\n");
        return NULL;
    }
    void* library = dlopen(path, RTLD_NOW);
    void* found = library ? dlsym(library, "cupola_hello") : NULL;
    if (!found) fprintf(stderr, "%s\n", dlerror());
    return (hello_function)found;
}

/* Launches one block of three threads; 0 is success. */
int run_cuda(void) {
    hello_function hello = find_hello();
    if (!hello || hello(1, 3) != 0) return 1;
    printf("Load cuda function successfully!\n");
    fflush(stdout); /* for callers that have a buffer of their own, as Python has */
    return 0;
}
