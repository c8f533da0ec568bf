# examples/hello/call_hello.pyx - calls the library's main from Cython: cythonize -i call_hello.pyx
# cython: language_level=3
from libc.stdio cimport fflush, stdout

cdef extern from "dlfcn.h":
    int RTLD_NOW
    void* dlopen(const char* path, int mode)
    void* dlsym(void* library, const char* name)
    const char* dlerror()

ctypedef int (*Main)()


def say_hello(str path):
    """Run the main of the library at `path`, and return its result."""
    cdef bytes name = path.encode()
    cdef void* library = dlopen(name, RTLD_NOW)
    cdef Main run = <Main>dlsym(library, "main") if library else NULL
    if run == NULL:
        raise OSError(dlerror().decode())
    cdef int status = run()
    fflush(stdout)  # a kernel's printf goes to C's standard output
    return status
