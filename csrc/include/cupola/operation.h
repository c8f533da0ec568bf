/* cupola/operation.h - declared operations: kernels called with tensors; part of the C ABI.
 *
 * A declaration is a text of lines, each a word and its value.
 *
 * - "operation 1 heat.step": the version of this format, which is 1, and the name.
 * - "types T": the type variables, with commas between them.
 * - "input u T[ny, nx]", also mutated, output, workspace: a tensor. A mutated one is an input that
 *   the kernel writes. Inputs come first, then outputs, then workspaces.
 * - "scalar alpha float": a number; also int and bool.
 * - "size area ny * nx": a name for an expression.
 * - "check area >= 1": a condition of the arguments.
 * - "kernel float32": the element types of one kernel, in the order of the type variables.
 * - "argument nx": a tensor, a scalar or an expression, in the order of the kernel's parameters.
 * - "grid ceildiv(nx, 32)", also block, cluster: one to three lines each.
 * - "shared 4 * nx": bytes of dynamic shared memory.
 * - "cooperative 1", also dependent, priority, carveout: attributes of the launch.
 * - "align 16": the address of each tensor is a multiple of so many bytes.
 * - "strided u": an input whose strides the kernel takes.
 * - "batch loop": one launch for each element of a batch. "batch symbol": one launch for all.
 *
 * A shape lists lengths. A name is a size, which an input binds. broadcast(n) is n or 1. *name
 * comes first and stands for any number of axes; in expressions it is the product of their lengths.
 * Other lengths are expressions. "?" after a shape makes an input optional.
 *
 * Expressions are of 64-bit integers: + - * / % and parentheses, ceildiv(a, b), min, max,
 * sizeof(T), stride(tensor, axis) in elements, present(tensor), batch(). Divisions round down.
 * Overflows, divisions by zero and divisions of negative numbers are errors. */
#ifndef CUPOLA_OPERATION_H
#define CUPOLA_OPERATION_H

#include "cupola/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CUPOLA_OP_VERSION 1
CUPOLA_API int cupola_op_version(void); /* the CUPOLA_OP_VERSION of the library's build */

typedef struct cupola_op cupola_op;

/* CUPOLA_ERROR_VALUE where the declaration is invalid. It loads no driver. */
CUPOLA_API int cupola_op_create(const char* declaration, size_t size, cupola_op** out);
CUPOLA_API void cupola_op_retain(cupola_op* op);
CUPOLA_API void cupola_op_release(cupola_op* op);
CUPOLA_API const char* cupola_op_name(const cupola_op* op);

/* The number of kernels that the declaration has. */
CUPOLA_API size_t cupola_op_kernel_count(const cupola_op* op);
/* The types of kernel `index`, such as "float32, int64"; NULL where there is none. */
CUPOLA_API const char* cupola_op_kernel_types(const cupola_op* op, size_t index);
/* Sets the kernel of one line "kernel", for the kernel's device. CUPOLA_ERROR_TYPE where its
 * parameters contradict the declaration. The operation keeps the kernel. */
CUPOLA_API int cupola_op_bind(cupola_op* op, size_t index, cupola_kernel* kernel);
/* Whether kernel `index` is set for a device. */
CUPOLA_API int cupola_op_bound(const cupola_op* op, size_t index, int device);

typedef struct cupola_op_scalar {
    int is_real; /* whether `real` is the value, else `integer` is */
    int64_t integer;
    double real;
} cupola_op_scalar;

/* The arguments of a call. Later versions add fields at the end; set `size`, and the rest to 0. */
typedef struct cupola_op_call {
    size_t size; /* sizeof(cupola_op_call) */
    /* A DLTensor* for each input, output and workspace in the declaration's order; NULL for an
     * optional input that is not given. */
    const void* const* tensors;
    size_t tensor_count;
    const cupola_op_scalar* scalars; /* in the declaration's order */
    size_t scalar_count;
    /* The stream; where it is NULL and `has_handle` is 0, the current stream of the tensors'
     * device. */
    cupola_stream* stream;
    void* handle; /* a CUstream */
    int has_handle;
    /* For a declaration with "batch": the length of the batch, which is the first axis of each
     * tensor whose byte here is not 0. NULL: no batch. */
    const unsigned char* batched;
    int64_t batch;
} cupola_op_call;

/* Checks the arguments, chooses the kernel by their element types, and launches it. Errors name
 * the operation and the argument; after one nothing was launched. It allocates no memory and may
 * wait like cupola_launch. Tensors in host memory (kDLCPU) are used in place by the device of
 * cupola_op_host_device: their work is done when the call returns. Work on others is queued on the
 * stream. */
CUPOLA_API int cupola_op_launch(cupola_op* op, const cupola_op_call* call);

/* The results of a call's checks, for calls like it. It keeps the operation and the kernel. */
typedef struct cupola_op_plan cupola_op_plan;
/* Checks a call like cupola_op_launch, and launches nothing. `*out` is NULL where no later call can
 * be known to be like it: for a batch, an empty grid, and tensors that are all in host memory. */
CUPOLA_API int cupola_op_plan_create(cupola_op* op, const cupola_op_call* call,
                                     cupola_op_plan** out);
CUPOLA_API void cupola_op_plan_release(cupola_op_plan* plan);
/* Launches a call that is like the plan's: its tensors have the same element types, shapes, strides
 * and devices, its integers the same values. Alignment and overlap are checked again. It is for
 * callers that hold a lock, as cupola_launch_at_once is. Where the launch may wait, the call is
 * another one, or its addresses are wrong, it does nothing and returns CUPOLA_WOULD_WAIT. Then
 * cupola_op_launch launches it, or says what is wrong. `used`, unless NULL, receives the stream. */
CUPOLA_API int cupola_op_plan_launch(cupola_op_plan* plan, const cupola_op_call* call,
                                     cupola_stream** used);

/* The CPU device whose kernels this thread's calls use for tensors in host memory. It is the first
 * of these that there is:
 *
 * - the current device, where cupola_device_push has made a device of the CPU device current;
 * - the CPU device, where the environment has CUPOLA_CPU_TENSORS=1. No other driver is loaded;
 * - device 0, where the driver is the CPU device.
 *
 * Otherwise it is -1. */
CUPOLA_API int cupola_op_host_device(int* device);

/* Makes the operation known to the handlers below by a name of the caller's, as long as the
 * process lives. CUPOLA_ERROR_VALUE where another operation has the name. */
CUPOLA_API int cupola_op_register(cupola_op* op, const char* name);
/* Handlers of XLA's typed FFI, which JAX calls: an XLA_FFI_CallFrame* gives an XLA_FFI_Error*, or
 * NULL. The first is for buffers in host memory, the others for those of a GPU. The last one takes
 * scalars in device memory and waits for their values, so XLA does not capture its launches.
 *
 * Arguments are the inputs that are given, in order, then the scalars that are operands. Results
 * are the outputs, the mutated inputs, which alias theirs, and the workspaces. The attribute
 * "cupola_operation" is the name from cupola_op_register, "cupola_given" has "1" or "0" for each
 * input. "cupola_batched", where it is there, has the same for each tensor, and "cupola_batch" is
 * the batch's length. "cupola_scalars" has for each scalar "o", where it is an operand, or "=" and
 * 16 hexadecimal digits: the bits of a double, or of an int64_t where the scalar is an integer or a
 * bool. An operand is one number, or two of uint32 with such bits. */
CUPOLA_API void* cupola_op_xla_host(void* call_frame);
CUPOLA_API void* cupola_op_xla_cuda(void* call_frame);
CUPOLA_API void* cupola_op_xla_cuda_operands(void* call_frame);

#ifdef __cplusplus
}
#endif

#endif /* CUPOLA_OPERATION_H */
