// csrc/platform/oldest.cpp - the oldest version of each system function that a library binds to.
//
// A linker takes the newest version of a symbol that this machine's C library has. The library then
// loads only where that version exists. glibc 2.34 gave new versions to all of libpthread and
// libdl, although the functions did not change. This file binds each such function that is called
// to its first version. A library for older systems also needs libpthread and libdl by name, where
// these functions were.
#include <features.h>

#if defined(__GLIBC__) && defined(__x86_64__)
#define CUPOLA_FIRST "GLIBC_2.2.5"
#define CUPOLA_SECOND "GLIBC_2.3.3"
#define CUPOLA_JUMP(to) "    jmp *" to "@GOTPCREL(%rip)\n"
#elif defined(__GLIBC__) && defined(__aarch64__)
#define CUPOLA_FIRST "GLIBC_2.17"
#define CUPOLA_SECOND "GLIBC_2.17"
#define CUPOLA_JUMP(to)                \
    "    adrp x16, :got:" to           \
    "\n"                               \
    "    ldr x16, [x16, :got_lo12:" to \
    "]\n"                              \
    "    br x16\n"
#endif

#if defined(CUPOLA_FIRST) && __GLIBC_PREREQ(2, 34)

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <new>

// The jump does not change the return address, by which dlopen and dlsym know their caller.
#define CUPOLA_OLDEST(name, version)                                                          \
    __asm__(".symver oldest_" name ", " name "@" version                                      \
            "\n    .pushsection .text\n    .p2align 4\n"                                      \
            "    .globl " name "\n    .hidden " name "\n    .type " name ", %function\n" name \
            ":\n" CUPOLA_JUMP("oldest_" name) "    .size " name ", . - " name                 \
                                              "\n    .popsection\n")

CUPOLA_OLDEST("dladdr", CUPOLA_FIRST);
CUPOLA_OLDEST("dlclose", CUPOLA_FIRST);
CUPOLA_OLDEST("dlerror", CUPOLA_FIRST);
CUPOLA_OLDEST("dlinfo", CUPOLA_SECOND);
CUPOLA_OLDEST("dlopen", CUPOLA_FIRST);
CUPOLA_OLDEST("dlsym", CUPOLA_FIRST);
CUPOLA_OLDEST("pthread_condattr_setclock", CUPOLA_SECOND);
CUPOLA_OLDEST("pthread_create", CUPOLA_FIRST);
CUPOLA_OLDEST("pthread_detach", CUPOLA_FIRST);
CUPOLA_OLDEST("pthread_join", CUPOLA_FIRST);  // of zstd
CUPOLA_OLDEST("pthread_mutex_trylock", CUPOLA_FIRST);
CUPOLA_OLDEST("pthread_once", CUPOLA_FIRST);
CUPOLA_OLDEST("pthread_rwlock_rdlock", CUPOLA_FIRST);
CUPOLA_OLDEST("pthread_rwlock_unlock", CUPOLA_FIRST);
CUPOLA_OLDEST("pthread_rwlock_wrlock", CUPOLA_FIRST);
CUPOLA_OLDEST("pthread_sigmask", CUPOLA_FIRST);
// Since 2.27 and 2.29 without a wrapper that sets errno.
CUPOLA_OLDEST("exp2", CUPOLA_FIRST);
CUPOLA_OLDEST("log2", CUPOLA_FIRST);
CUPOLA_OLDEST("log2f", CUPOLA_FIRST);
CUPOLA_OLDEST("pow", CUPOLA_FIRST);
// std::condition_variable::wait, which may not throw any more since GCC 12.
CUPOLA_OLDEST("_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE", "GLIBCXX_3.4.11");

// Macros' functions before 2.33.
#if defined(__x86_64__)
constexpr int struct_stat = 1;  // its version
#else
constexpr int struct_stat = 0;
#endif
extern "C" {
int oldest_stat(int version, const char* path, void* status);
int oldest_lstat(int version, const char* path, void* status);
int oldest_fstat(int version, int file, void* status);
__asm__(".symver oldest_stat, __xstat@" CUPOLA_FIRST);
__asm__(".symver oldest_lstat, __lxstat@" CUPOLA_FIRST);
__asm__(".symver oldest_fstat, __fxstat@" CUPOLA_FIRST);
[[gnu::visibility("hidden")]] int stat_here(const char* path, void* status) __asm__("stat");
[[gnu::visibility("hidden")]] int lstat_here(const char* path, void* status) __asm__("lstat");
[[gnu::visibility("hidden")]] int fstat_here(int file, void* status) __asm__("fstat");
int stat_here(const char* path, void* status) { return oldest_stat(struct_stat, path, status); }
int lstat_here(const char* path, void* status) { return oldest_lstat(struct_stat, path, status); }
int fstat_here(int file, void* status) { return oldest_fstat(struct_stat, file, status); }
}

// Calls of the kernel, which have had functions since 2.25 and 2.27.
extern "C" [[gnu::visibility("hidden")]] long getrandom_here(void* to, unsigned long bytes,
                                                             unsigned flags) __asm__("getrandom");
extern "C" long getrandom_here(void* to, unsigned long bytes, unsigned flags) {
    return syscall(SYS_getrandom, to, bytes, flags);
}
extern "C" [[gnu::visibility("hidden")]] int memfd_create_here(
    const char* name, unsigned flags) __asm__("memfd_create");
extern "C" int memfd_create_here(const char* name, unsigned flags) {
    return static_cast<int>(syscall(SYS_memfd_create, name, flags));
}

// Whether the process has one thread. std::shared_ptr asks for this since glibc 2.32. The answer is
// the one of older versions: the process may have several threads.
extern "C" [[gnu::visibility("hidden")]] char single_threaded __asm__("__libc_single_threaded");
extern "C" {
char single_threaded = 0;
}

// The standard headers call this since GCC 11 where an array's size overflows.
[[noreturn, gnu::visibility("hidden")]] void fail_length() __asm__(
    "_ZSt28__throw_bad_array_new_lengthv");
void fail_length() { throw std::bad_array_new_length(); }

// Functions of GCC 7: memory for arrays of types that have an alignment of their own.
[[gnu::visibility("hidden")]] void* new_aligned(std::size_t, std::size_t) noexcept
    __asm__("_ZnamSt11align_val_tRKSt9nothrow_t");
void* new_aligned(std::size_t bytes, std::size_t align) noexcept {
    const std::size_t whole = (bytes + align - 1) / align * align;
    return whole < bytes ? nullptr : std::aligned_alloc(align, whole);
}
[[gnu::visibility("hidden")]] void delete_aligned(void*) noexcept __asm__("_ZdaPvSt11align_val_t");
void delete_aligned(void* memory) noexcept { std::free(memory); }

#endif
