# cupola/abi.pxd - what binds compiled modules to this cupola: its library, and its declarations.

# The number counts changes of the public .pxd files: of a class's fields, or of its methods and
# their order. Cython itself would not notice. Every public .pxd cimports this function, so a
# module that was built with other declarations asks for another name and fails to import.
cdef int cupola_abi_1() noexcept nogil

# For cupola's own modules, each at its import: raises LibraryError unless the loaded
# libcupola.so is of the build that the module was compiled in.
cdef int require(str module, int abi_version, const char* build_id) except -1
