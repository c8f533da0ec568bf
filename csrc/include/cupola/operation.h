/* cupola/operation.h - declared operations: kernels called with tensors; part of the C ABI.
 *
 * A declaration is written in Python or in pyproject.toml (docs/reference/operations.md). cupola's
 * Python code parses it, and writes the compiled form that this library reads. The build of a
 * package stores that form of each operation beside the kernels, as heat/step.op for heat.step.
 *
 * The compiled form begins with "cupola operation 2\n". Then follow numbers, which are int64_t in
 * little-endian byte order, and texts. A text is the number of its bytes, and UTF-8 without a zero
 * byte. A list is the number of its items, and the items. They are, in this order:
 *
 * - the name, as a text.
 * - a list of type variables, as texts.
 * - a list of sizes: the names of all integers that expressions use, as texts.
 * - a list of tensors: inputs, then outputs, then workspaces. Each is its role (0 to 2 in that
 *   order), its name and its type as texts, four flags (optional, mutated, strided, has a pack), an
 *   element, and a list of lengths after the pack. An element is the index of a type variable, or
 *   -1 and DLPack's code and bits. A length is 0 and the size that it binds, 1 and an expression,
 *   or 2 and the size to which it may be broadcast.
 * - a list of scalars, each a kind (0 float, 1 int, 2 bool) and a name.
 * - for each size, a number that says where its value comes from. 0 is a length of an input. 1 is
 *   the product of the pack's lengths. 2 and a scalar is its value. 3, a tensor and an axis after
 *   the pack is a stride in elements. 4 and a tensor says whether it is given. 5 and an element is
 *   the bytes of an element. 6 is the length of the batch. 7 and an expression uses sizes before
 * it.
 * - a list of checks, which are expressions that compare.
 * - a list of kernels, each the code and bits for each type variable, and its name as a text.
 * - a list of arguments in the order of the kernel's parameters. An argument is 0 and a tensor, 1
 *   and a scalar, 2 and an expression, or 3, the bytes of a struct and a list of its fields. A
 *   field is its bytes, its offset, and a tensor whose address it has, or -1 and an expression.
 * - lists of expressions: the grid and the block, of three each; the cluster, of three or none;
 *   bytes of dynamic shared memory, cooperative, dependent, priority and carveout, of one or none.
 * - the alignment of each tensor's address in bytes, a power of two.
 * - 0 for no batch, 1 for one launch for each element of a batch, 2 for one launch for all.
 *
 * Tensors, scalars, sizes and type variables are named by their indices. An expression is its text
 * for messages, and a list of steps in postfix order: 0 and a constant, 1 and a size, and from 2 on
 * + - * / % ceildiv min max == != < <= > >=. Values are 64-bit integers. Divisions round down.
 * Overflows, divisions by zero and divisions of negative numbers are errors. */
#ifndef CUPOLA_OPERATION_H
#define CUPOLA_OPERATION_H

#include "cupola/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CUPOLA_OP_VERSION 2
CUPOLA_API int cupola_op_version(void); /* the CUPOLA_OP_VERSION of the library's build */

typedef struct cupola_op cupola_op;

/* CUPOLA_ERROR_VALUE where the declaration is invalid. It loads no driver. */
CUPOLA_API int cupola_op_create(const void* declaration, size_t size, cupola_op** out);
CUPOLA_API void cupola_op_retain(cupola_op* op);
CUPOLA_API void cupola_op_release(cupola_op* op);
CUPOLA_API const char* cupola_op_name(const cupola_op* op);

/* The number of kernels that the declaration has. */
CUPOLA_API size_t cupola_op_kernel_count(const cupola_op* op);
/* The types of kernel `index`, such as "float32, int64"; NULL where there is none. */
CUPOLA_API const char* cupola_op_kernel_types(const cupola_op* op, size_t index);
/* The name of kernel `index` in its image; NULL where there is none. */
CUPOLA_API const char* cupola_op_kernel_name(const cupola_op* op, size_t index);
/* Sets kernel `index`, for the kernel's device. CUPOLA_ERROR_TYPE where its
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
 * callers that hold a lock, as cupola_launch_at_once is. `known` is 0, or the number of tensors at
 * the begin of the list that the caller has compared with those of the plan's call, together with
 * all integers. They are not compared again. Where the launch may wait, the call is
 * another one, or its addresses are wrong, it does nothing and returns CUPOLA_WOULD_WAIT. Then
 * cupola_op_launch launches it, or says what is wrong. `used`, unless NULL, receives the stream. */
CUPOLA_API int cupola_op_plan_launch(cupola_op_plan* plan, const cupola_op_call* call, size_t known,
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
