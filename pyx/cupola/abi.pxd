# cupola/abi.pxd - what binds compiled modules to this cupola's library.

# For cupola's own modules, each at its import: raises LibraryError unless the loaded
# libcupola.so is of the build that the module was compiled in.
cdef int require(str module, int abi_version, const char* build_id) except -1
