// benchmarks/bare.cpp - a Python callable that only calls the driver: the least that any launch
// from Python costs. Compiled by floor.py.
#include <Python.h>

#include <memory>

namespace {

using Launch = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                       void*, void**, void**);
using GraphLaunch = int (*)(void*, void*);

struct Bare {
    Launch launch = nullptr;
    GraphLaunch launch_graph = nullptr;
    void* what = nullptr;
    void* stream = nullptr;
    unsigned grid = 0, block = 0;
    void** parameters = nullptr;
};

PyObject* call(PyObject* self, PyObject*) {
    const auto& b = *static_cast<Bare*>(PyCapsule_GetPointer(self, nullptr));
    const int code =
        b.launch ? b.launch(b.what, b.grid, 1, 1, b.block, 1, 1, 0, b.stream, b.parameters, nullptr)
                 : b.launch_graph(b.what, b.stream);
    if (code != 0) return PyErr_Format(PyExc_RuntimeError, "the driver's code is %d", code);
    Py_RETURN_NONE;
}

PyMethodDef method{"bare", call, METH_NOARGS, nullptr};

PyObject* callable(std::unique_ptr<Bare> bare) {
    PyObject* capsule = PyCapsule_New(bare.get(), nullptr, [](PyObject* capsule) {
        delete static_cast<Bare*>(PyCapsule_GetPointer(capsule, nullptr));
    });
    if (!capsule) return nullptr;
    bare.release();
    PyObject* function = PyCFunction_New(&method, capsule);
    Py_DECREF(capsule);
    return function;
}

}  // namespace

// cuLaunchKernel, arguments packed beforehand.
extern "C" PyObject* bare_launch(void* launch, void* function, void* stream, unsigned grid,
                                 unsigned block, void** parameters) {
    return callable(std::make_unique<Bare>(Bare{reinterpret_cast<Launch>(launch), nullptr, function,
                                                stream, grid, block, parameters}));
}

// cuGraphLaunch.
extern "C" PyObject* bare_graph(void* launch, void* exec, void* stream) {
    return callable(std::make_unique<Bare>(
        Bare{nullptr, reinterpret_cast<GraphLaunch>(launch), exec, stream, 0, 0, nullptr}));
}
