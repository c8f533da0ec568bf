/* cupola/cupola.h - the C ABI of libcupola.so: everything that crosses the library's boundary.
 *
 * Every function that can fail returns a cupola_status (0 is success) and keeps the text of its
 * failure for cupola_last_error() of the same thread. Handles are opaque and counted: *_create,
 * *_load and the like give one reference, *_retain adds one, *_release takes one away. Of NULL
 * both do nothing; elsewhere it is an error, and gives 0, "" or device -1 where there is no status.
 * An owner keeps what it depends on alive, so handles may be released in any order.
 * Everything may be called from any thread. Device addresses are uint64_t. */
#ifndef CUPOLA_CUPOLA_H
#define CUPOLA_CUPOLA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CUPOLA_ABI_VERSION 1

#if defined(__GNUC__)
#define CUPOLA_API __attribute__((visibility("default")))
#else
#define CUPOLA_API
#endif

/* -- the library ------------------------------------------------------------------------------ */

CUPOLA_API int cupola_abi_version(void);          /* CUPOLA_ABI_VERSION it was built with */
CUPOLA_API const char* cupola_build_id(void);     /* of headers and declarations together */
CUPOLA_API const char* cupola_version(void);      /* "0.1.0" */
CUPOLA_API const char* cupola_library_path(void); /* of the loaded libcupola.so itself */

/* -- errors ----------------------------------------------------------------------------------- */

typedef enum cupola_status {
    CUPOLA_SUCCESS = 0,
    CUPOLA_ERROR_DRIVER = 1,        /* a driver call failed: see code and name */
    CUPOLA_ERROR_OUT_OF_MEMORY = 2, /* likewise, for want of memory */
    CUPOLA_ERROR_VALUE = 3,         /* an argument has a wrong value */
    CUPOLA_ERROR_TYPE = 4,          /* an argument is of a wrong kind */
    CUPOLA_ERROR_IMAGE = 5,         /* broken, or has no code for the device: see log */
    CUPOLA_ERROR_NOT_FOUND = 6,     /* no kernel, variable or device of that name */
    CUPOLA_ERROR_NO_DRIVER = 7,     /* no usable driver: the text says what was tried */
    CUPOLA_ERROR_FORKED = 8,        /* the driver does not survive fork() */
    CUPOLA_ERROR_INTERNAL = 9
} cupola_status;

typedef struct cupola_error_info {
    int status;       /* cupola_status */
    int code;         /* the driver's CUresult, 0 where no driver call failed */
    const char* name; /* "CUDA_ERROR_...", "" where no driver call failed */
    const char* text; /* what went wrong, and what to do */
    const char* log;  /* the JIT compiler's log, "" where there is none */
} cupola_error_info;

/* Text of this thread's last failure; valid until its next one. */
CUPOLA_API const char* cupola_last_error(void);
CUPOLA_API void cupola_last_error_info(cupola_error_info* out);

/* -- driver ----------------------------------------------------------------------------------- */

typedef struct cupola_driver_info {
    const char* kind;   /* "cuda": NVIDIA's library; "cpu": cupola's CPU device */
    const char* path;   /* the file that was loaded */
    int version;        /* cuDriverGetVersion: 13000 is CUDA 13.0 */
    const char* reason; /* one line: why this one was taken */
    const char* notice; /* a warning about one that was passed over, "" where there is none */
} cupola_driver_info;

/* Takes "auto", "cuda", "cpu" or a path in place of the environment's CUPOLA_DRIVER. Fails once a
 * driver is loaded. */
CUPOLA_API int cupola_driver_select(const char* choice);
/* Loads and initialises the driver where that has not happened yet, as every call below does. */
CUPOLA_API int cupola_driver_get(cupola_driver_info* out);
CUPOLA_API int cupola_driver_loaded(void); /* 1 once a driver is loaded */
/* A line for each place where a driver was looked for: found and taken, or why it was passed
 * over. Empty before a driver was asked for. */
CUPOLA_API const char* cupola_driver_report(void);

/* -- devices ---------------------------------------------------------------------------------- */

/* The current device is the one of the driver's current context where there is one, else
 * device 0, so that other libraries in the process and cupola agree on it. Work is done in the
 * devices' primary contexts. */
CUPOLA_API int cupola_device_count(int* count);
CUPOLA_API int cupola_device_current(int* device);
CUPOLA_API int cupola_device_push(int device); /* makes it current for this thread */
CUPOLA_API int cupola_device_pop(void);        /* back to what was current before the push */
CUPOLA_API int cupola_device_name(int device, char* name, size_t size);
CUPOLA_API int cupola_device_attribute(int device, int attribute,
                                       int* value); /* CUdevice_attribute */
CUPOLA_API int cupola_device_memory(int device, size_t* free_bytes, size_t* total_bytes);
CUPOLA_API int cupola_device_synchronize(int device);

/* -- streams ---------------------------------------------------------------------------------- */

typedef struct cupola_stream cupola_stream;
typedef struct cupola_event cupola_event;

enum { CUPOLA_STREAM_NON_BLOCKING = 1 }; /* does not wait for the legacy default stream */

CUPOLA_API int cupola_stream_create(int device, unsigned flags, int priority, cupola_stream** out);
/* The least and the greatest priority of the device's streams: the greatest is the smaller. */
CUPOLA_API int cupola_stream_priorities(int device, int* least, int* greatest);
CUPOLA_API int cupola_stream_priority(cupola_stream* stream, int* priority, unsigned* flags);
/* A stream that somebody else owns; `release(owner)` is called when cupola no longer needs it. */
CUPOLA_API int cupola_stream_wrap(int device, void* handle, void* owner, void (*release)(void*),
                                  cupola_stream** out);
/* This thread's current stream of the device, a new reference: the last one pushed, else the
 * legacy default stream. */
CUPOLA_API int cupola_stream_current(int device, cupola_stream** out);
/* The same without a reference: valid until this thread's current stream changes. */
CUPOLA_API int cupola_stream_peek(int device, cupola_stream** out);
CUPOLA_API int cupola_stream_push(cupola_stream* stream);
CUPOLA_API int cupola_stream_pop(cupola_stream* stream); /* fails unless it was pushed last */
CUPOLA_API int cupola_stream_synchronize(cupola_stream* stream);
CUPOLA_API int cupola_stream_query(cupola_stream* stream, int* done);
CUPOLA_API int cupola_stream_wait(cupola_stream* stream, cupola_event* event);
/* What is queued from now on waits for all that was queued on the stream of this handle, a CUstream
 * of the same device that anybody owns. Where the stream is captured and the other is not, the
 * caller waits instead: a graph can't wait for work outside of it. */
CUPOLA_API int cupola_stream_follow(cupola_stream* stream, void* handle);
CUPOLA_API void* cupola_stream_handle(const cupola_stream* stream); /* CUstream */
CUPOLA_API int cupola_stream_device(const cupola_stream* stream);
CUPOLA_API void cupola_stream_retain(cupola_stream* stream);
CUPOLA_API void cupola_stream_release(cupola_stream* stream);

/* Queues call(data): it runs when all before it is done, on a thread of the driver's, and what
 * comes after it waits for it. It must not use the driver, and so next to nothing of this library;
 * what it releases is released elsewhere. release(data), where given, follows it. Where work before
 * it fails neither is ever called. */
CUPOLA_API int cupola_stream_call(cupola_stream* stream, void (*call)(void*), void* data,
                                  void (*release)(void*));
/* How many such calls of this process have yet to return. Whoever holds a lock that they take, as
 * Python's global one, while he queues work looks here first: queueing may wait for a stream that
 * waits for a call that waits for the lock. */
CUPOLA_API int cupola_callbacks_pending(void);
/* Counts as one from here to drop: for a thread that is about to let go of the lock and then to
 * queue a call. */
CUPOLA_API void cupola_callbacks_hold(void);
CUPOLA_API void cupola_callbacks_drop(void);

/* -- events ----------------------------------------------------------------------------------- */

/* An event for other processes too has no timing. */
enum { CUPOLA_EVENT_BLOCKING = 1, CUPOLA_EVENT_NO_TIMING = 2, CUPOLA_EVENT_INTERPROCESS = 4 };

CUPOLA_API int cupola_event_create(int device, unsigned flags, cupola_event** out);
/* What another process opens it by; it has to be kept here as long as it is used there. */
CUPOLA_API int cupola_event_export(cupola_event* event, unsigned char handle[64]);
CUPOLA_API int cupola_event_import(int device, const unsigned char handle[64], cupola_event** out);
CUPOLA_API int cupola_event_record(cupola_event* event, cupola_stream* stream);
CUPOLA_API int cupola_event_synchronize(cupola_event* event);
CUPOLA_API int cupola_event_query(cupola_event* event, int* done);
CUPOLA_API int cupola_event_elapsed(cupola_event* start, cupola_event* stop, double* seconds);
CUPOLA_API void* cupola_event_handle(const cupola_event* event); /* CUevent */
CUPOLA_API int cupola_event_device(const cupola_event* event);
CUPOLA_API void cupola_event_retain(cupola_event* event);
CUPOLA_API void cupola_event_release(cupola_event* event);

/* -- memory ----------------------------------------------------------------------------------- */

typedef struct cupola_memory cupola_memory;

/* Device memory, from the device's stream-ordered pool where it has one: usable by work queued on
 * `stream` from now on, and by other streams after they waited for it. Zero bytes give a null
 * address. Freed in the order of the streams that used it (cupola_memory_use). */
CUPOLA_API int cupola_memory_allocate(int device, size_t bytes, cupola_stream* stream,
                                      cupola_memory** out);
/* Page-locked host memory, reachable from every device at the same address. Write-combined memory
 * is fast for a device to read and slow for the host to read. */
enum { CUPOLA_PINNED_WRITE_COMBINED = 1 };
CUPOLA_API int cupola_memory_allocate_pinned(int device, size_t bytes, unsigned flags,
                                             cupola_memory** out);
/* Host memory of the caller, page-locked as long as the handle lives: the caller keeps the memory
 * alive till then. A range inside of one that is registered already shares its registration. */
enum { CUPOLA_REGISTER_READ_ONLY = 1 }; /* device code only reads it */
CUPOLA_API int cupola_memory_register(int device, void* host, size_t bytes, unsigned flags,
                                      cupola_memory** out);
/* Memory that host and devices reach at one address; the driver moves it. */
CUPOLA_API int cupola_memory_allocate_managed(int device, size_t bytes, cupola_memory** out);
/* Queued: brings managed memory to a device, -1 is the host. */
CUPOLA_API int cupola_memory_prefetch(uint64_t address, size_t bytes, int device,
                                      cupola_stream* stream);
enum {
    CUPOLA_ADVISE_READ_MOSTLY = 1,
    CUPOLA_ADVISE_PREFERRED_LOCATION = 2, /* stays on that device */
    CUPOLA_ADVISE_ACCESSED_BY = 3         /* that device keeps a mapping of it */
};
/* Advice on managed memory, given (`give` 1) or taken back (0); device -1 is the host. */
CUPOLA_API int cupola_memory_advise(uint64_t address, size_t bytes, int advice, int give,
                                    int device);
/* Device memory that other processes can map. It comes from no pool: making and freeing it waits
 * for the device. */
CUPOLA_API int cupola_memory_allocate_exportable(int device, size_t bytes, cupola_memory** out);
enum { CUPOLA_IPC_HANDLE_SIZE = 64 };
/* The handle, as bytes for another process. Fails for memory that is not exportable. */
CUPOLA_API int cupola_memory_export(const cupola_memory* memory, void* handle);
CUPOLA_API int cupola_memory_import(int device, const void* handle, cupola_memory** out);
CUPOLA_API uint64_t cupola_memory_address(const cupola_memory* memory);
CUPOLA_API size_t cupola_memory_size(const cupola_memory* memory);
CUPOLA_API int cupola_memory_device(const cupola_memory* memory);
/* Says that work which uses the memory was queued on `stream`. */
CUPOLA_API int cupola_memory_use(cupola_memory* memory, cupola_stream* stream);
CUPOLA_API void cupola_memory_retain(cupola_memory* memory);
CUPOLA_API void cupola_memory_release(cupola_memory* memory);

/* Queued on the stream. A pageable host source is read before the call returns; a pageable
 * destination is complete when the stream has been synchronised. */
CUPOLA_API int cupola_copy_to_device(uint64_t to, const void* from, size_t bytes, cupola_stream* s);
CUPOLA_API int cupola_copy_to_host(void* to, uint64_t from, size_t bytes, cupola_stream* s);
CUPOLA_API int cupola_copy_on_device(uint64_t to, uint64_t from, size_t bytes, cupola_stream* s);
/* From one device's memory to another's, whether they reach each other or not. The stream is of one
 * of the two. Unless it is being captured, the copy waits for what is queued on the other device's
 * current stream, and what is queued there later waits for the copy. */
CUPOLA_API int cupola_copy_between(uint64_t to, int to_device, uint64_t from, int from_device,
                                   size_t bytes, cupola_stream* s);

/* Elements that do not follow each other: where the first lies, and bytes from one to the next
 * along each axis, of any sign. */
typedef struct cupola_strided {
    uint64_t address;
    const int64_t* strides;
} cupola_strided;
enum { CUPOLA_TO_DEVICE = 1, CUPOLA_TO_HOST = 2, CUPOLA_ON_DEVICE = 3 };
/* Copies every element of a shape, queued on the stream. `done` is 0, and nothing was queued, where
 * host memory takes part and the copy is neither linear nor rows or slices of a useful length: go
 * through contiguous memory then. The two must not overlap, nor the destination's own elements;
 * the source's may (a stride of 0 repeats). Both sides of a CUPOLA_ON_DEVICE copy are reachable
 * from the stream's device. */
CUPOLA_API int cupola_copy_strided(const cupola_strided* to, const cupola_strided* from,
                                   const int64_t* shape, int ndim, size_t itemsize, int direction,
                                   cupola_stream* s, int* done);
/* Writes `count` times the low `width` (1, 2 or 4) bytes of value. */
CUPOLA_API int cupola_fill(uint64_t to, uint32_t value, int width, size_t count, cupola_stream* s);
/* Writes `element` to every place of a shape. */
CUPOLA_API int cupola_fill_strided(const cupola_strided* to, const int64_t* shape, int ndim,
                                   const void* element, size_t itemsize, cupola_stream* s);
/* The device which an address belongs to; -1: host memory that no driver knows. */
CUPOLA_API int cupola_address_device(uint64_t address, int* device);

/* What is known of an address that the driver handed out or registered. */
typedef struct cupola_address_info {
    int device;  /* -1: host memory that no driver knows */
    int host;    /* 1: page-locked memory of the host */
    int managed; /* 1: managed memory */
} cupola_address_info;
CUPOLA_API int cupola_address_describe(uint64_t address, cupola_address_info* out);

/* -- the pool and peers ----------------------------------------------------------------------- */

typedef struct cupola_pool_info {
    uint64_t used, used_high;         /* bytes handed out, and the most since the last reset */
    uint64_t reserved, reserved_high; /* bytes taken from the device */
    uint64_t release_threshold;       /* unused bytes above it go back at a synchronisation */
} cupola_pool_info;
/* Of the device's pool; these fail where the driver has none. */
CUPOLA_API int cupola_pool_get(int device, cupola_pool_info* out);
CUPOLA_API int cupola_pool_reset_high(int device);
CUPOLA_API int cupola_pool_trim(int device, uint64_t keep);
CUPOLA_API int cupola_pool_set_release_threshold(int device, uint64_t bytes);

/* Whether `device` can reach memory of `peer`, and letting it: pool memory, too. */
CUPOLA_API int cupola_peer_possible(int device, int peer, int* possible);
CUPOLA_API int cupola_peer_enable(int device, int peer, int enable);

/* -- tensors of other libraries: DLPack ------------------------------------------------------- */

/* What a DLPack tensor says, checked; lengths and strides in elements. Device types and type codes
 * are DLPack's own numbers. */
typedef struct cupola_tensor {
    uint64_t address; /* of the first element */
    int32_t device_type, device;
    int32_t ndim;
    uint8_t code, bits;
    uint8_t read_only, copied;
    const int64_t* shape;
    const int64_t* strides; /* NULL: C order */
} cupola_tensor;
/* Reads a DLManagedTensor, or a DLManagedTensorVersioned, which stays alive as long as `out` is
 * used. */
CUPOLA_API int cupola_tensor_read(const void* managed, int versioned, cupola_tensor* out);
/* Makes one; `release(owner)` is called when its consumer deletes it, from any thread. Shape and
 * strides are copied. */
CUPOLA_API int cupola_tensor_make(const cupola_tensor* tensor, int versioned, void* owner,
                                  void (*release)(void*), void** managed);
/* What its consumer calls in the end. */
CUPOLA_API void cupola_tensor_delete(void* managed, int versioned);

/* -- modules and kernels ---------------------------------------------------------------------- */

typedef struct cupola_module cupola_module;
typedef struct cupola_kernel cupola_kernel;

/* What an argument may be: a set of these, several where the image leaves it open. */
enum {
    CUPOLA_POINTER = 1,
    CUPOLA_INTEGER = 2,
    CUPOLA_FLOAT = 4, /* f16, f32, f64 by size */
    CUPOLA_STRUCT = 8,
    CUPOLA_UNSIGNED = 16, /* with CUPOLA_INTEGER: known to have no sign */
    CUPOLA_SIGNED = 32,   /* with CUPOLA_INTEGER: known to have one */
    CUPOLA_CONST = 64,    /* with CUPOLA_POINTER: known to be read only */
    CUPOLA_BFLOAT = 128   /* with CUPOLA_FLOAT: two bytes are bfloat16 */
};

typedef struct cupola_parameter {
    uint32_t offset, size; /* bytes */
    uint32_t kind;         /* a set of the above */
    const char* name;      /* "" where it is not known */
    const char* type;      /* a pointer's element type or a value's type as C writes it, or "" */
} cupola_parameter;

/* Loads a fatbin, cubin or PTX text into the device's primary context. The bytes may go away. */
CUPOLA_API int cupola_module_load(int device, const void* image, size_t size, cupola_module** out);
typedef struct cupola_link_input {
    const void* data; /* PTX text, a fatbin or a cubin */
    size_t size;
    const char* name; /* for messages */
} cupola_link_input;

/* Makes one image of several with the driver's own linker, and hands it to `take` before it
 * returns. The CPU device links PTX. */
CUPOLA_API int cupola_link(int device, const cupola_link_input* inputs, size_t count,
                           void (*take)(void* owner, const void* image, size_t size), void* owner);
/* The kernels shipped with cupola: loaded at the first call for a device, a new reference. */
CUPOLA_API int cupola_module_shipped(int device, cupola_module** out);
CUPOLA_API void cupola_shipped_image(const void** image, size_t* size);
CUPOLA_API int cupola_module_device(const cupola_module* module);
/* Names as the image has them (mangled where C++ mangled them). */
CUPOLA_API int cupola_module_kernel_count(cupola_module* module, size_t* count);
CUPOLA_API int cupola_module_kernel_name(cupola_module* module, size_t index, const char** name);
/* By exact name, by demangled name, or by demangled base name where only one kernel has it. */
CUPOLA_API int cupola_module_kernel(cupola_module* module, const char* name, cupola_kernel** out);
CUPOLA_API int cupola_module_global(cupola_module* module, const char* name, uint64_t* address,
                                    size_t* size);
/* Variables that the image tells of, as it names them; an error where it can't be read. */
CUPOLA_API int cupola_module_variable_count(cupola_module* module, size_t* count);
CUPOLA_API int cupola_module_variable_name(cupola_module* module, size_t index, const char** name);
/* PTX text of the same source: where the image is machine code alone, the kernels that are asked
 * for from now on have their parameter lists from it. It is not loaded. */
CUPOLA_API int cupola_module_describe(cupola_module* module, const char* ptx, size_t size);
/* Waits for all work of the device, then unloads the image: from then on every use of the module,
 * its kernels and variables fails. No other thread may be about to launch one of its kernels. */
CUPOLA_API int cupola_module_unload(cupola_module* module);
CUPOLA_API int cupola_module_loaded(const cupola_module* module); /* 0 once it was unloaded */
CUPOLA_API void cupola_module_retain(cupola_module* module);
CUPOLA_API void cupola_module_release(cupola_module* module);

CUPOLA_API const char* cupola_kernel_name(const cupola_kernel* kernel);
CUPOLA_API const char* cupola_kernel_demangled(const cupola_kernel* kernel);
/* For messages: the name as C++ writes it, without its parameters. */
CUPOLA_API const char* cupola_kernel_title(const cupola_kernel* kernel);
CUPOLA_API int cupola_kernel_device(const cupola_kernel* kernel);
CUPOLA_API void* cupola_kernel_handle(const cupola_kernel* kernel); /* CUfunction */
CUPOLA_API size_t cupola_kernel_parameter_count(const cupola_kernel* kernel);
CUPOLA_API const cupola_parameter* cupola_kernel_parameters(const cupola_kernel* kernel);
CUPOLA_API size_t cupola_kernel_parameter_bytes(const cupola_kernel* kernel);
/* Where the types of a kernel's parameters come from, the best source last. */
enum {
    CUPOLA_KNOWN_SIZES = 0,    /* the image alone: sizes, offsets, what PTX tells of kinds */
    CUPOLA_KNOWN_DECLARED = 1, /* cupola_kernel_declare_text */
    CUPOLA_KNOWN_COMPILED = 2, /* the compiler: the kernel's C++ name, or cupola_kernel_describe */
    CUPOLA_KNOWN_MANIFEST = 3  /* cupola_kernel_declare */
};
CUPOLA_API int cupola_kernel_known(const cupola_kernel* kernel);

/* The next three are not for a kernel that other threads use. What cupola_kernel_parameters gave
 * before stays readable as long as the kernel, and is to be asked for again. */

/* What a manifest knows: checked against what the driver says, then it replaces kinds, names and
 * types. */
CUPOLA_API int cupola_kernel_declare(cupola_kernel* kernel, const cupola_parameter* parameters,
                                     size_t count);
/* What a user knows: a list of C parameters, as in "float a, const float* x, size_t n". It is
 * checked against sizes, offsets and kinds that are known; CUPOLA_ERROR_VALUE where it does not
 * fit. */
CUPOLA_API int cupola_kernel_declare_text(cupola_kernel* kernel, const char* parameters);
/* What a compiler knows: `type` is the mangled name of a function template whose argument is the
 * type of a pointer to the kernel, or NULL; `names` are the parameters', each may be NULL. What
 * does not fit the image is left out. */
CUPOLA_API int cupola_kernel_describe(cupola_kernel* kernel, const char* type,
                                      const char* const* names, size_t count);
CUPOLA_API int cupola_kernel_attribute(const cupola_kernel* kernel, int attribute,
                                       int* value); /* CUfunction_attribute */
/* Blocks that fit on one multiprocessor at a time. */
CUPOLA_API int cupola_kernel_occupancy(const cupola_kernel* kernel, int block, size_t shared,
                                       int* blocks);
/* A block size of highest occupancy and the smallest grid that fills the device with it. */
CUPOLA_API int cupola_kernel_suggest(const cupola_kernel* kernel, size_t shared, int* block,
                                     int* grid);
CUPOLA_API void cupola_kernel_retain(cupola_kernel* kernel);
CUPOLA_API void cupola_kernel_release(cupola_kernel* kernel);

/* -- arguments and launch --------------------------------------------------------------------- */

/* Each writes argument `index` into a buffer of cupola_kernel_parameter_bytes, checked against
 * the parameter: its kind, its width, its range. */
CUPOLA_API int cupola_argument_int(const cupola_kernel* kernel, void* buffer, size_t index,
                                   int64_t value);
CUPOLA_API int cupola_argument_uint(const cupola_kernel* kernel, void* buffer, size_t index,
                                    uint64_t value);
CUPOLA_API int cupola_argument_float(const cupola_kernel* kernel, void* buffer, size_t index,
                                     double value);
CUPOLA_API int cupola_argument_pointer(const cupola_kernel* kernel, void* buffer, size_t index,
                                       uint64_t address);
/* A struct or any other value of exactly the parameter's size. */
CUPOLA_API int cupola_argument_bytes(const cupola_kernel* kernel, void* buffer, size_t index,
                                     const void* bytes, size_t size);
/* CUPOLA_ERROR_TYPE, and a text that lists the parameters, unless the kernel takes `count`. */
CUPOLA_API int cupola_argument_count(const cupola_kernel* kernel, size_t count);
/* Keeps and returns the error of an argument that the caller refuses, CUPOLA_ERROR_TYPE or _VALUE,
 * in the words of the functions above: what is expected there, and `got`. */
CUPOLA_API int cupola_argument_refuse(const cupola_kernel* kernel, size_t index, int status,
                                      const char* got);

typedef struct cupola_dimensions {
    uint32_t grid[3];  /* blocks */
    uint32_t block[3]; /* threads a block */
    uint32_t shared;   /* bytes of dynamic shared memory a block */
} cupola_dimensions;

enum {
    CUPOLA_COOPERATIVE = 1, /* all blocks are resident at a time, so that they can wait for all */
    CUPOLA_DEPENDENT = 2,   /* may start before the kernel in front of it is done: the kernel waits
                               by itself (programmatic dependent launch) */
    CUPOLA_PRIORITY = 4,    /* `priority` counts, in place of the stream's */
    CUPOLA_CARVEOUT = 8     /* `carveout` counts */
};

/* What a launch can ask for beside its dimensions; all zeros ask for nothing. */
typedef struct cupola_attributes {
    uint32_t cluster[3]; /* blocks of a cluster, which divide the grid; zeros: none, or those that
                            the kernel was compiled for */
    uint32_t flags;      /* a set of the above */
    int32_t priority;    /* smaller goes first */
    int32_t carveout;    /* percent of a multiprocessor's memory to be shared memory */
} cupola_attributes;

/* Queues the kernel on the stream. `attributes` may be NULL. The buffer is copied before the call
 * returns. */
CUPOLA_API int cupola_launch(cupola_kernel* kernel, const cupola_dimensions* dimensions,
                             const cupola_attributes* attributes, const void* buffer,
                             cupola_stream* stream);
/* As cupola_launch of what cupola_launch_check took, for a caller who holds a lock that device work
 * or a callback may want, as Python's is: where the call could wait, or launches are traced, it
 * does nothing and gives CUPOLA_WOULD_WAIT, so that the caller lets the lock go and calls
 * cupola_launch. `used`, unless NULL, becomes the stream, without a reference: it is that of the
 * call where that was not NULL, else valid until this thread's current stream changes. */
#define CUPOLA_WOULD_WAIT (-1)
CUPOLA_API int cupola_launch_at_once(cupola_kernel* kernel, const cupola_dimensions* dimensions,
                                     const cupola_attributes* attributes, const void* buffer,
                                     cupola_stream* stream, cupola_stream** used);
/* The checks of cupola_launch without the launch. */
CUPOLA_API int cupola_launch_check(const cupola_kernel* kernel, const cupola_dimensions* dimensions,
                                   const cupola_attributes* attributes);
/* The line of the program that this thread's next launches come from, for the errors of a fault;
 * NULL: none. The text is copied. From the first call on, launches count as traced. */
CUPOLA_API void cupola_launch_origin(const char* line);

/* -- graphs: work that is described once and launched many times ------------------------------- */

typedef struct cupola_graph cupola_graph;
typedef struct cupola_graph_exec cupola_graph_exec;
/* A node is the driver's CUgraphNode: good as long as its graph. */
typedef void* cupola_node;

/* What is forbidden while a stream is captured, as the driver has it: to all threads, to the one
 * that began it, to none. This library's own allocations and loads are allowed in each. */
enum { CUPOLA_CAPTURE_GLOBAL = 0, CUPOLA_CAPTURE_THREAD_LOCAL = 1, CUPOLA_CAPTURE_RELAXED = 2 };

/* From here on what is queued on the stream, and on streams that wait for it, becomes part of a
 * graph and does not run. Memory that is allocated meanwhile is there at once, and stays. */
CUPOLA_API int cupola_capture_begin(cupola_stream* stream, int mode);
/* The graph, a new reference; where something spoilt the capture an error. The capture is over. */
CUPOLA_API int cupola_capture_end(cupola_stream* stream, cupola_graph** out);
/* Whether (held) the stream is being captured; then its graph holds the owner, where one is given,
 * and calls release(owner) when it is needed no more. */
CUPOLA_API int cupola_capture_hold(cupola_stream* stream, void* owner, void (*release)(void*),
                                   int* held);
CUPOLA_API int cupola_captures(void); /* 0 where no stream is being captured by this library */

CUPOLA_API int cupola_graph_create(int device, cupola_graph** out);
/* Each adds a node that runs after the `count` nodes at `after`. The graph holds the kernel, and
 * the memory of this library which arguments and addresses lie in. */
CUPOLA_API int cupola_graph_add_kernel(cupola_graph* graph, const cupola_node* after, size_t count,
                                       cupola_kernel* kernel, const cupola_dimensions* dimensions,
                                       const void* buffer, cupola_node* node);
CUPOLA_API int cupola_graph_add_copy(cupola_graph* graph, const cupola_node* after, size_t count,
                                     uint64_t to, uint64_t from, size_t bytes, cupola_node* node);
CUPOLA_API int cupola_graph_add_fill(cupola_graph* graph, const cupola_node* after, size_t count,
                                     uint64_t to, uint32_t value, int width, size_t elements,
                                     cupola_node* node);
/* See cupola_stream_call; `release` follows the last launch and the graph. */
CUPOLA_API int cupola_graph_add_call(cupola_graph* graph, const cupola_node* after, size_t count,
                                     void (*call)(void*), void* data, void (*release)(void*),
                                     cupola_node* node);
/* A copy of the other graph as it is now. */
CUPOLA_API int cupola_graph_add_child(cupola_graph* graph, const cupola_node* after, size_t count,
                                      const cupola_graph* child, cupola_node* node);
CUPOLA_API int cupola_graph_add_empty(cupola_graph* graph, const cupola_node* after, size_t count,
                                      cupola_node* node);
CUPOLA_API int cupola_graph_add_edge(cupola_graph* graph, cupola_node from, cupola_node to);
/* The graph, and what is made of it, hold the owner for the node. */
CUPOLA_API int cupola_graph_hold(cupola_graph* graph, cupola_node node, void* owner,
                                 void (*release)(void*));
/* How many there are; as many as `count` says are written where there is a place. */
CUPOLA_API int cupola_graph_nodes(const cupola_graph* graph, cupola_node* nodes, size_t* count);
CUPOLA_API int cupola_graph_edges(const cupola_graph* graph, cupola_node* from, cupola_node* to,
                                  size_t* count);

typedef struct cupola_node_info {
    int type;                     /* CUgraphNodeType */
    const char* title;            /* a kernel's, "" where it is not known; of this thread's last */
    cupola_dimensions dimensions; /* of a kernel */
    uint64_t to, from;            /* of a copy; `to` of a fill */
    size_t bytes;                 /* of a copy or a fill */
} cupola_node_info;
CUPOLA_API int cupola_node_get(const cupola_graph* graph, cupola_node node, cupola_node_info* out);
/* The graph inside a node, to look at: what is added to it is not held. */
CUPOLA_API int cupola_node_child(cupola_graph* graph, cupola_node node, cupola_graph** out);
CUPOLA_API void* cupola_graph_handle(const cupola_graph* graph); /* CUgraph */
CUPOLA_API int cupola_graph_device(const cupola_graph* graph);
CUPOLA_API void cupola_graph_retain(cupola_graph* graph);
CUPOLA_API void cupola_graph_release(cupola_graph* graph);

/* Ready to launch: of the graph as it is now. */
CUPOLA_API int cupola_graph_instantiate(const cupola_graph* graph, cupola_graph_exec** out);
CUPOLA_API int cupola_graph_exec_launch(cupola_graph_exec* exec, cupola_stream* stream);
/* As cupola_graph_exec_launch, for a caller who holds a lock: see cupola_launch_at_once. */
CUPOLA_API int cupola_graph_exec_launch_at_once(cupola_graph_exec* exec, cupola_stream* stream);
CUPOLA_API int cupola_graph_exec_upload(cupola_graph_exec* exec, cupola_stream* stream);
/* In place of what a kernel's node, of the graph it was made of, has; for later launches. The
 * owner, where there is one, is released in any case: here after a failure. */
CUPOLA_API int cupola_graph_exec_set_kernel(cupola_graph_exec* exec, cupola_node node,
                                            cupola_kernel* kernel,
                                            const cupola_dimensions* dimensions, const void* buffer,
                                            void* owner, void (*release)(void*));
/* All of another graph, of the same nodes and edges. */
CUPOLA_API int cupola_graph_exec_update(cupola_graph_exec* exec, const cupola_graph* graph);
CUPOLA_API void* cupola_graph_exec_handle(const cupola_graph_exec* exec); /* CUgraphExec */
CUPOLA_API void cupola_graph_exec_retain(cupola_graph_exec* exec);
CUPOLA_API void cupola_graph_exec_release(cupola_graph_exec* exec);

/* -- shipped kernels: host memory in and out, done when they return --------------------------- */

/* graph[row * n + column] = 1 where the orbit of lattice[column] + i lattice[n - 1 - row] stays
 * within `bound` for `iterations` steps, else 0. */
CUPOLA_API int cupola_mandelbrot(const float* lattice, float* graph, int iterations, float bound,
                                 int n);
CUPOLA_API int cupola_saxpy(float a, const float* x, const float* y, float* out, size_t n);
enum { CUPOLA_BORDER_ZERO = 0, CUPOLA_BORDER_CLAMP = 1 };
/* 2-D correlation of a (height, width, channels) image with an odd-sized filter. */
CUPOLA_API int cupola_convolve(const float* image, const float* filter, float* out, int height,
                               int width, int channels, int filter_height, int filter_width,
                               int border);
/* Prints "Hello World From GPU!" once a thread. */
CUPOLA_API int cupola_hello(unsigned blocks, unsigned threads);

/* The same on device addresses, queued on the stream. */
CUPOLA_API int cupola_mandelbrot_async(uint64_t lattice, uint64_t graph, int iterations,
                                       float bound, int n, cupola_stream* stream);
CUPOLA_API int cupola_saxpy_async(float a, uint64_t x, uint64_t y, uint64_t out, size_t n,
                                  cupola_stream* stream);
CUPOLA_API int cupola_convolve_async(uint64_t image, uint64_t filter, uint64_t out, int height,
                                     int width, int channels, int filter_height, int filter_width,
                                     int border, cupola_stream* stream);

#ifdef __cplusplus
}
#endif

#endif /* CUPOLA_CUPOLA_H */
