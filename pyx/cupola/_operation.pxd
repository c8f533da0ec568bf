# cupola/_operation.pxd - the C ABI of declared operations; internal: it needs operation.h.

from libc.stdint cimport int64_t

from cupola.handles cimport cupola_kernel, cupola_stream

cdef extern from "cupola/operation.h" nogil:
    ctypedef struct cupola_op:
        pass

    ctypedef struct cupola_op_scalar:
        int is_real
        int64_t integer
        double real

    ctypedef struct cupola_op_call:
        size_t size
        const void* const* tensors
        size_t tensor_count
        const cupola_op_scalar* scalars
        size_t scalar_count
        cupola_stream* stream
        void* handle
        int has_handle
        const unsigned char* batched
        int64_t batch

    int cupola_op_create(const void* declaration, size_t size, cupola_op** out)
    void cupola_op_release(cupola_op* op)
    const char* cupola_op_name(const cupola_op* op)
    size_t cupola_op_kernel_count(const cupola_op* op)
    const char* cupola_op_kernel_types(const cupola_op* op, size_t index)
    const char* cupola_op_kernel_name(const cupola_op* op, size_t index)
    int cupola_op_bind(cupola_op* op, size_t index, cupola_kernel* kernel)
    int cupola_op_host_device(int* device)
    int cupola_op_bound(const cupola_op* op, size_t index, int device)
    int cupola_op_launch(cupola_op* op, const cupola_op_call* call)
    ctypedef struct cupola_op_plan:
        pass

    int cupola_op_plan_create(cupola_op* op, const cupola_op_call* call, cupola_op_plan** out)
    void cupola_op_plan_release(cupola_op_plan* plan)
    int cupola_op_plan_launch(
        cupola_op_plan* plan, const cupola_op_call* call, size_t known, cupola_stream** used)
    int cupola_op_register(cupola_op* op, const char* name)
    void* cupola_op_xla_host(void* call_frame)
    void* cupola_op_xla_cuda(void* call_frame)
    void* cupola_op_xla_cuda_operands(void* call_frame)
