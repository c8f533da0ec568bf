# cupola/_references.pxd - references to objects that several threads use, where Python has no GIL.
#
# Each reference to an object that another thread made is an atomic operation. Threads that launch
# the same kernel would wait for one another at each of them. With the GIL, nothing here does
# anything.
from cpython.object cimport PyObject


cdef extern from *:
    """
    #ifdef Py_GIL_DISABLED
    static thread_local PyObject* cupola_kept_object = nullptr;

    static inline bool cupola_made_elsewhere(PyObject* object) {
        return !_Py_IsOwnedByCurrentThread(object);
    }

    static inline PyObject* cupola_kept() {
        PyObject* const kept = cupola_kept_object;
        const bool alone = kept && __atomic_load_n(&kept->ob_ref_local, __ATOMIC_RELAXED) == 1
            && __atomic_load_n(&kept->ob_ref_shared, __ATOMIC_RELAXED) == 0;
        return alone ? kept : nullptr;
    }

    static inline int cupola_keep(PyObject* object) {
        PyObject* const places = PyThreadState_GetDict();
        if (!places) return 0;
        // The object of before is freed here, and forgotten.
        if (PyDict_SetItemString(places, "cupola.kept", object) < 0) return -1;
        cupola_kept_object = object;
        return 0;
    }

    static inline void cupola_forget(PyObject* object) {
        if (cupola_kept_object == object) cupola_kept_object = nullptr;
    }

    static inline void cupola_share(PyObject* object) {
    #if PY_VERSION_HEX >= 0x030E0000
        PyUnstable_Object_EnableDeferredRefcount(object);
    #endif
    }

    #else
    static inline bool cupola_made_elsewhere(PyObject*) { return false; }
    static inline PyObject* cupola_kept() { return nullptr; }
    static inline int cupola_keep(PyObject*) { return 0; }
    static inline void cupola_forget(PyObject*) {}
    static inline void cupola_share(PyObject*) {}
    #endif
    """
    # Whether another thread made the object.
    bint made_elsewhere "cupola_made_elsewhere"(PyObject* object) noexcept
    # The object that this thread keeps, if the thread has the only reference, else NULL.
    PyObject* kept "cupola_kept"() noexcept
    # Keep an object that this thread made, in place of the one before. The thread's dict has the
    # reference.
    int keep "cupola_keep"(PyObject* object) except -1
    # The object is freed.
    void forget "cupola_forget"(PyObject* object) noexcept
    # From Python 3.14 on, Python code uses the object without counting references. The garbage
    # collector frees it.
    void share "cupola_share"(PyObject* object) noexcept
