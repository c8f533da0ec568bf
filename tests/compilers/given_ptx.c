/* tests/compilers/given_ptx.c - the CUDA runtime loads PTX in place of the CuTe DSL's machine code. */
static const char* text;
static int count;

void give(const char* ptx) { text = ptx; }
int loads(void) { return count; }

int __real_cudaLibraryLoadData(void** library, const void* code, void* options, void** values,
                               unsigned number, void* library_options, void** library_values,
                               unsigned library_number);
int __wrap_cudaLibraryLoadData(void** library, const void* code, void* options, void** values,
                               unsigned number, void* library_options, void** library_values,
                               unsigned library_number) {
    (void)code;
    ++count;
    return __real_cudaLibraryLoadData(library, text, options, values, number, library_options,
                                      library_values, library_number);
}
