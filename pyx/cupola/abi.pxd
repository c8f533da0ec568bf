# cupola/abi.pxd - binds compiled modules to this build of libcupola.so.

# Each of cupola's own modules calls it at import: raises LibraryError unless the loaded
# libcupola.so is from the same build.
cdef int require(str module, int abi_version, const char* build_id) except -1
