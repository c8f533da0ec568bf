/* examples/hello/call.c - a C program that loads the library and calls its main.
 *
 *     cc call.c -o call -ldl && ./call ./libhello.so
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char** arguments) {
    void* library = dlopen(count > 1 ? arguments[1] : "./libhello.so", RTLD_NOW);
    int (*run)(void) = library ? (int (*)(void))dlsym(library, "main") : NULL;
    if (!run) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    return run();
}
