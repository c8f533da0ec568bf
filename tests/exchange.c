/* tests/exchange.c - a Python type with DLPack 1.3's C functions: a tensor that says what it is
 * told to say. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

typedef struct {
    void* data;
    int32_t device_type, device_id, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} Tensor;

typedef struct Api {
    uint32_t major, minor;
    struct Api* previous;
    void* allocate;
    void* managed_from_object;
    void* object_from_managed;
    int (*tensor_from_object)(void*, Tensor*);
    int (*current_stream)(int32_t, int32_t, void**);
} Api;

typedef struct {
    PyObject_HEAD Tensor tensor;
    int64_t shape[4], strides[4];
    int fails;
} Object;

static unsigned long long stream, asked;

static int tensor_of(void* object, Tensor* out) {
    Object* self = object;
    ++asked;
    if (self->fails) {
        PyErr_SetString(PyExc_BufferError, "it does not want to");
        return -1;
    }
    *out = self->tensor;
    return 0;
}

static int current(int32_t type, int32_t device, void** out) {
    (void)type, (void)device;
    *out = (void*)(uintptr_t)stream;
    return 0;
}

static Api newer = {2, 0, NULL, NULL, NULL, NULL, NULL, NULL};
static Api api = {1, 3, NULL, NULL, NULL, NULL, tensor_of, current};

static int init(PyObject* object, PyObject* arguments, PyObject* names) {
    Object* self = (Object*)object;
    Tensor* t = &self->tensor;
    static char* keys[] = {"address", "shape",  "strides", "code",  "bits", "lanes",
                           "type",    "device", "offset",  "fails", NULL};
    unsigned long long address, offset = 0;
    PyObject *shape, *strides = Py_None;
    int code = 2, bits = 32, lanes = 1, type = 2, device = 0;
    self->fails = 0;
    if (!PyArg_ParseTupleAndKeywords(arguments, names, "KO!|OiiiiiKp", keys, &address,
                                     &PyTuple_Type, &shape, &strides, &code, &bits, &lanes, &type,
                                     &device, &offset, &self->fails))
        return -1;
    t->data = (void*)(uintptr_t)address;
    t->byte_offset = offset;
    t->device_type = type;
    t->device_id = device;
    t->ndim = (int32_t)PyTuple_GET_SIZE(shape);
    t->code = (uint8_t)code;
    t->bits = (uint8_t)bits;
    t->lanes = (uint16_t)lanes;
    t->shape = self->shape;
    t->strides = strides == Py_None ? NULL : self->strides;
    for (int i = 0; i < t->ndim; ++i) {
        self->shape[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, i));
        if (t->strides) self->strides[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(strides, i));
    }
    return PyErr_Occurred() ? -1 : 0;
}

static PyTypeObject type = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "exchange.Tensor",
                            .tp_basicsize = sizeof(Object),
                            .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                            .tp_new = PyType_GenericNew, .tp_init = init};

static PyObject* set_stream(PyObject* self, PyObject* value) {
    (void)self;
    stream = PyLong_AsUnsignedLongLong(value);
    Py_RETURN_NONE;
}

static PyObject* get_asked(PyObject* self, PyObject* nothing) {
    (void)self, (void)nothing;
    return PyLong_FromUnsignedLongLong(asked);
}

static PyMethodDef methods[] = {{"set_stream", set_stream, METH_O, NULL},
                                {"asked", get_asked, METH_NOARGS, NULL},
                                {NULL, NULL, 0, NULL}};
static PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "exchange", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_exchange(void) {
    PyObject* made = PyModule_Create(&module);
    newer.previous = &api;
    if (!made || PyType_Ready(&type) < 0) return NULL;
    PyObject* capsule = PyCapsule_New(&newer, "dlpack_exchange_api", NULL);
    if (!capsule || PyDict_SetItemString(type.tp_dict, "__dlpack_c_exchange_api__", capsule) < 0)
        return NULL;
    Py_INCREF(&type);
    PyModule_AddObject(made, "Tensor", (PyObject*)&type);
    return made;
}
