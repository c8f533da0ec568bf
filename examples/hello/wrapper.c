/* examples/hello/wrapper.c - a C library around the CUDA one, for ctypes or any other caller.
 *
 *     cc -shared -fPIC wrapper.c -o libwrapper.so -ldl
 */
#include <dlfcn.h>

/* 0: the kernel ran; otherwise main's result, or -1 where there is no such library. */
int say_hello(const char* path) {
    void* library = dlopen(path, RTLD_NOW);
    int (*run)(void) = library ? (int (*)(void))dlsym(library, "main") : 0;
    return run ? run() : -1;
}
