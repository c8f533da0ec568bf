# cupola/_free_threading.pxd - state that several threads use where Python has no GIL.
#
# With the GIL, these are plain accesses, and locks that do nothing. `cython.critical_section`,
# which guards the state of one object, does nothing there either.
#
# A critical section ends early where its thread waits or runs Python code. So its code does
# neither. It also keeps objects that it replaces: their destructors may wait.

cdef extern from *:
    """
    #ifdef Py_GIL_DISABLED
    #define CUPOLA_FREE_THREADED 1

    template <class T>
    static inline T cupola_load(const T& place) {
        return __atomic_load_n(&place, __ATOMIC_ACQUIRE);
    }

    template <class T>
    static inline void cupola_store(T& place, T value) {
        __atomic_store_n(&place, value, __ATOMIC_RELEASE);
    }

    template <class T>
    static inline void cupola_add(T& place, T value) {
        __atomic_fetch_add(&place, value, __ATOMIC_RELEASE);
    }

    static inline void cupola_lock(unsigned char* lock) { PyMutex_Lock((PyMutex*)lock); }
    static inline void cupola_unlock(unsigned char* lock) { PyMutex_Unlock((PyMutex*)lock); }

    #else
    #define CUPOLA_FREE_THREADED 0

    template <class T>
    static inline T cupola_load(const T& place) { return place; }

    template <class T>
    static inline void cupola_store(T& place, T value) { place = value; }

    template <class T>
    static inline void cupola_add(T& place, T value) { place += value; }

    static inline void cupola_lock(unsigned char*) {}
    static inline void cupola_unlock(unsigned char*) {}
    #endif
    """
    const bint FREE_THREADED "CUPOLA_FREE_THREADED"
    # A thread that loads a value sees all that another thread wrote before it stored the value.
    T load "cupola_load"[T](const T& place) noexcept nogil
    void store "cupola_store"[T](T& place, T value) noexcept nogil
    void add "cupola_add"[T](T& place, T value) noexcept nogil
    # A lock that stays locked while Python code runs. It is a byte that begins as 0. A thread must
    # not lock it twice.
    void lock "cupola_lock"(unsigned char* lock) noexcept
    void unlock "cupola_unlock"(unsigned char* lock) noexcept
