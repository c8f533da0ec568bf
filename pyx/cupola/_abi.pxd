# cupola/_abi.pxd - declares the C ABI of libcupola.so, for cupola's own .pyx files.
# Other projects cimport cupola.kernel, cupola.stream and so on, and link no library for that.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from cupola.handles cimport (
    cupola_event, cupola_graph, cupola_graph_exec, cupola_kernel, cupola_memory, cupola_module,
    cupola_stream,
)

cdef extern from *:
    """
    #ifndef CUPOLA_BUILD_ID
    #error "the build passes CUPOLA_BUILD_ID, the build id of libcupola.so, as a string"
    #endif
    """
    const char* CUPOLA_BUILD_ID

cdef inline str text(const char* value):
    return (<bytes>value).decode("utf-8", "replace") if value != NULL else ""

cdef extern from "cupola/cupola.h" nogil:
    enum:
        CUPOLA_ABI_VERSION

    int cupola_abi_version()
    const char* cupola_build_id()
    const char* cupola_version()
    const char* cupola_library_path()

    enum:
        CUPOLA_SUCCESS
        CUPOLA_ERROR_DRIVER
        CUPOLA_ERROR_OUT_OF_MEMORY
        CUPOLA_ERROR_VALUE
        CUPOLA_ERROR_TYPE
        CUPOLA_ERROR_IMAGE
        CUPOLA_ERROR_NOT_FOUND
        CUPOLA_ERROR_NO_DRIVER
        CUPOLA_ERROR_FORKED
        CUPOLA_ERROR_INTERNAL

    ctypedef struct cupola_error_info:
        int status
        int code
        const char* name
        const char* text
        const char* log

    void cupola_output_set_sink(
        int (*wanted)() noexcept, void (*write)(const char* text, size_t bytes) noexcept)
    void cupola_output_deliver()
    const char* cupola_output_assertion()

    const char* cupola_last_error()
    void cupola_last_error_info(cupola_error_info* out)

    ctypedef struct cupola_driver_info:
        const char* kind
        const char* path
        int version
        const char* reason
        const char* notice

    int cupola_driver_select(const char* choice)
    int cupola_driver_get(cupola_driver_info* out)
    int cupola_driver_loaded()
    int cupola_driver_beside()
    const char* cupola_driver_report()

    int cupola_device_count(int* count)
    int cupola_device_current(int* device)
    int cupola_device_push(int device)
    int cupola_device_pop()
    int CUPOLA_CPU_DEVICE
    int cupola_device_cpu(int* device)
    int cupola_device_canonical(int device, int* out)
    int cupola_device_is_cpu(int device, int* out)
    int cupola_device_name(int device, char* name, size_t size)
    int cupola_device_attribute(int device, int attribute, int* value)
    int cupola_device_memory(int device, size_t* free_bytes, size_t* total_bytes)
    int cupola_device_synchronize(int device)

    enum:
        CUPOLA_STREAM_NON_BLOCKING

    int cupola_stream_create(int device, unsigned flags, int priority, cupola_stream** out)
    int cupola_stream_priorities(int device, int* least, int* greatest)
    int cupola_stream_priority(cupola_stream* stream, int* priority, unsigned* flags)
    int cupola_stream_wrap(
        int device, void* handle, void* owner, void (*release)(void*) noexcept nogil,
        cupola_stream** out,
    )
    int cupola_stream_current(int device, cupola_stream** out)
    int cupola_stream_peek(int device, cupola_stream** out)
    int cupola_stream_push(cupola_stream* stream)
    int cupola_stream_pop(cupola_stream* stream)
    int cupola_stream_synchronize(cupola_stream* stream)
    int cupola_stream_query(cupola_stream* stream, int* done)
    int cupola_stream_wait(cupola_stream* stream, cupola_event* event)
    int cupola_stream_follow(cupola_stream* stream, void* handle)
    void* cupola_stream_handle(const cupola_stream* stream)
    int cupola_stream_device(const cupola_stream* stream)
    void cupola_stream_retain(cupola_stream* stream)
    void cupola_stream_release(cupola_stream* stream)

    int cupola_stream_call(
        cupola_stream* stream, void (*call)(void*) noexcept nogil, void* data,
        void (*release)(void*) noexcept nogil)
    int cupola_callbacks_pending()
    void cupola_callbacks_hold()
    void cupola_callbacks_drop()

    enum:
        CUPOLA_EVENT_BLOCKING
        CUPOLA_EVENT_NO_TIMING
        CUPOLA_EVENT_INTERPROCESS

    int cupola_event_create(int device, unsigned flags, cupola_event** out)
    int cupola_event_export(cupola_event* event, unsigned char* handle)
    int cupola_event_import(int device, const unsigned char* handle, cupola_event** out)
    int cupola_event_record(cupola_event* event, cupola_stream* stream)
    int cupola_event_synchronize(cupola_event* event)
    int cupola_event_query(cupola_event* event, int* done)
    int cupola_event_elapsed(cupola_event* start, cupola_event* stop, double* seconds)
    void* cupola_event_handle(const cupola_event* event)
    int cupola_event_device(const cupola_event* event)
    void cupola_event_retain(cupola_event* event)
    void cupola_event_release(cupola_event* event)

    int cupola_memory_allocate(
        int device, size_t bytes, cupola_stream* stream, cupola_memory** out)
    enum:
        CUPOLA_PINNED_WRITE_COMBINED
        CUPOLA_REGISTER_READ_ONLY
        CUPOLA_ADVISE_READ_MOSTLY
        CUPOLA_ADVISE_PREFERRED_LOCATION
        CUPOLA_ADVISE_ACCESSED_BY
        CUPOLA_IPC_HANDLE_SIZE

    int cupola_memory_allocate_pinned(
        int device, size_t bytes, unsigned flags, cupola_memory** out)
    int cupola_memory_register(
        int device, void* host, size_t bytes, unsigned flags, cupola_memory** out)
    int cupola_memory_allocate_managed(int device, size_t bytes, cupola_memory** out)
    int cupola_memory_prefetch(
        uint64_t address, size_t bytes, int device, cupola_stream* stream)
    int cupola_memory_advise(
        uint64_t address, size_t bytes, int advice, int give, int device)
    int cupola_memory_allocate_exportable(int device, size_t bytes, cupola_memory** out)
    int cupola_memory_export(const cupola_memory* memory, void* handle)
    int cupola_memory_import(int device, const void* handle, cupola_memory** out)
    uint64_t cupola_memory_address(const cupola_memory* memory)
    size_t cupola_memory_size(const cupola_memory* memory)
    int cupola_memory_device(const cupola_memory* memory)
    int cupola_memory_use(cupola_memory* memory, cupola_stream* stream)
    void cupola_memory_retain(cupola_memory* memory)
    void cupola_memory_release(cupola_memory* memory)

    int cupola_copy_to_device(uint64_t to, const void* source, size_t bytes, cupola_stream* s)
    int cupola_copy_to_host(void* to, uint64_t source, size_t bytes, cupola_stream* s)
    int cupola_copy_on_device(uint64_t to, uint64_t source, size_t bytes, cupola_stream* s)
    int cupola_copy_between(
        uint64_t to, int to_device, uint64_t source, int from_device, size_t bytes,
        cupola_stream* s)
    int cupola_fill(uint64_t to, uint32_t value, int width, size_t count, cupola_stream* s)
    int cupola_address_device(uint64_t address, int* device)
    int cupola_address_find(uint64_t address, int device, int* out)

    ctypedef struct cupola_strided:
        uint64_t address
        const int64_t* strides

    enum:
        CUPOLA_TO_DEVICE
        CUPOLA_TO_HOST
        CUPOLA_ON_DEVICE

    int cupola_copy_strided(
        const cupola_strided* to, const cupola_strided* source, const int64_t* shape, int ndim,
        size_t itemsize, int direction, cupola_stream* s, int* done)
    int cupola_fill_strided(
        const cupola_strided* to, const int64_t* shape, int ndim, const void* element,
        size_t itemsize, cupola_stream* s)

    ctypedef struct cupola_address_info:
        int device
        int host
        int managed

    int cupola_address_describe(uint64_t address, cupola_address_info* out)
    int cupola_address_range(uint64_t address, int device, uint64_t* begin, size_t* size)
    int cupola_address_exportable(uint64_t address, int* out)

    ctypedef struct cupola_pool_info:
        uint64_t used
        uint64_t used_high
        uint64_t reserved
        uint64_t reserved_high
        uint64_t release_threshold

    int cupola_pool_get(int device, cupola_pool_info* out)
    int cupola_pool_reset_high(int device)
    int cupola_pool_trim(int device, uint64_t keep)
    int cupola_pool_set_release_threshold(int device, uint64_t bytes)

    int cupola_peer_possible(int device, int peer, int* possible)
    int cupola_peer_enable(int device, int peer, int enable)

    ctypedef struct cupola_tensor:
        uint64_t address
        int32_t device_type
        int32_t device
        int32_t ndim
        uint8_t code
        uint8_t bits
        uint8_t read_only
        uint8_t copied
        const int64_t* shape
        const int64_t* strides

    int cupola_tensor_read(const void* managed, int versioned, cupola_tensor* out)
    int cupola_tensor_make(
        const cupola_tensor* tensor, int versioned, void* owner,
        void (*release)(void*) noexcept nogil, void** managed)
    void cupola_tensor_delete(void* managed, int versioned)

    enum:
        CUPOLA_POINTER
        CUPOLA_INTEGER
        CUPOLA_FLOAT
        CUPOLA_STRUCT
        CUPOLA_UNSIGNED
        CUPOLA_SIGNED
        CUPOLA_CONST
        CUPOLA_BFLOAT
        CUPOLA_HIDDEN

    ctypedef struct cupola_parameter:
        uint32_t offset
        uint32_t size
        uint32_t kind
        const char* name
        const char* type

    int cupola_module_load(int device, const void* image, size_t size, cupola_module** out)
    int cupola_module_load_silent(
        int device, const void* image, size_t size, cupola_module** out)
    int cupola_module_shipped(int device, cupola_module** out)
    ctypedef struct cupola_link_input:
        const void* data
        size_t size
        const char* name

    int cupola_link(
        int device, const cupola_link_input* inputs, size_t count,
        void (*take)(void* owner, const void* image, size_t size) noexcept nogil, void* owner)
    void cupola_shipped_image(const void** image, size_t* size)
    int cupola_module_device(const cupola_module* module)
    int cupola_module_kernel_count(cupola_module* module, size_t* count)
    int cupola_module_kernel_name(cupola_module* module, size_t index, const char** name)
    int cupola_module_kernel(cupola_module* module, const char* name, cupola_kernel** out)
    int cupola_module_global(
        cupola_module* module, const char* name, uint64_t* address, size_t* size)
    int cupola_module_variable_count(cupola_module* module, size_t* count)
    int cupola_module_variable_name(cupola_module* module, size_t index, const char** name)
    int cupola_module_describe(cupola_module* module, const char* ptx, size_t size)
    int cupola_module_unload(cupola_module* module)
    int cupola_module_loaded(const cupola_module* module)
    void cupola_module_retain(cupola_module* module)
    void cupola_module_release(cupola_module* module)

    const char* cupola_kernel_name(const cupola_kernel* kernel)
    const char* cupola_kernel_demangled(const cupola_kernel* kernel)
    const char* cupola_kernel_title(const cupola_kernel* kernel)
    int cupola_kernel_device(const cupola_kernel* kernel)
    cupola_module* cupola_kernel_module(const cupola_kernel* kernel)
    void* cupola_kernel_handle(const cupola_kernel* kernel)
    size_t cupola_kernel_parameter_count(const cupola_kernel* kernel)
    const cupola_parameter* cupola_kernel_parameters(const cupola_kernel* kernel)
    size_t cupola_kernel_parameter_bytes(const cupola_kernel* kernel)
    enum:
        CUPOLA_KNOWN_SIZES
        CUPOLA_KNOWN_DECLARED
        CUPOLA_KNOWN_COMPILED
        CUPOLA_KNOWN_MANIFEST

    int cupola_kernel_known(const cupola_kernel* kernel)
    int cupola_kernel_declare(
        cupola_kernel* kernel, const cupola_parameter* parameters, size_t count)
    int cupola_kernel_declare_text(cupola_kernel* kernel, const char* parameters)
    int cupola_kernel_describe(
        cupola_kernel* kernel, const char* type, const char** names, size_t count)
    int cupola_kernel_attribute(const cupola_kernel* kernel, int attribute, int* value)
    int cupola_kernel_occupancy(
        const cupola_kernel* kernel, int block, size_t shared, int* blocks)
    int cupola_kernel_suggest(
        const cupola_kernel* kernel, size_t shared, int* block, int* grid)
    void cupola_kernel_retain(cupola_kernel* kernel)
    void cupola_kernel_release(cupola_kernel* kernel)

    int cupola_argument_int(
        const cupola_kernel* kernel, void* buffer, size_t index, int64_t value)
    int cupola_argument_uint(
        const cupola_kernel* kernel, void* buffer, size_t index, uint64_t value)
    int cupola_argument_float(
        const cupola_kernel* kernel, void* buffer, size_t index, double value)
    int cupola_argument_pointer(
        const cupola_kernel* kernel, void* buffer, size_t index, uint64_t address)
    int cupola_argument_bytes(
        const cupola_kernel* kernel, void* buffer, size_t index, const void* data, size_t size)
    int cupola_argument_count(const cupola_kernel* kernel, size_t count)
    int cupola_argument_refuse(
        const cupola_kernel* kernel, size_t index, int status, const char* got)

    ctypedef struct cupola_dimensions:
        uint32_t grid[3]
        uint32_t block[3]
        uint32_t shared

    enum:
        CUPOLA_COOPERATIVE
        CUPOLA_DEPENDENT
        CUPOLA_PRIORITY
        CUPOLA_CARVEOUT
        CUPOLA_WOULD_WAIT

    ctypedef struct cupola_attributes:
        uint32_t cluster[3]
        uint32_t flags
        int32_t priority
        int32_t carveout

    int cupola_launch(
        cupola_kernel* kernel, const cupola_dimensions* dimensions,
        const cupola_attributes* attributes, const void* buffer, cupola_stream* stream)
    int cupola_launch_at_once(
        cupola_kernel* kernel, const cupola_dimensions* dimensions,
        const cupola_attributes* attributes, const void* buffer, cupola_stream* stream,
        cupola_stream** used)
    int cupola_launch_check(
        const cupola_kernel* kernel, const cupola_dimensions* dimensions,
        const cupola_attributes* attributes)
    void cupola_launch_origin(const char* line)

    ctypedef void* cupola_node

    enum:
        CUPOLA_CAPTURE_GLOBAL
        CUPOLA_CAPTURE_THREAD_LOCAL
        CUPOLA_CAPTURE_RELAXED

    int cupola_capture_begin(cupola_stream* stream, int mode)
    int cupola_capture_end(cupola_stream* stream, cupola_graph** out)
    int cupola_capture_hold(
        cupola_stream* stream, void* owner, void (*release)(void*) noexcept nogil, int* held)
    int cupola_capture_require_contents(cupola_stream* stream, uint64_t address)
    int cupola_captures()
    int cupola_graph_create(int device, cupola_graph** out)
    int cupola_graph_add_kernel(
        cupola_graph* graph, const cupola_node* after, size_t count, cupola_kernel* kernel,
        const cupola_dimensions* dimensions, const void* buffer, cupola_node* node)
    int cupola_graph_add_copy(
        cupola_graph* graph, const cupola_node* after, size_t count, uint64_t to,
        uint64_t source, size_t bytes, cupola_node* node)
    int cupola_graph_add_fill(
        cupola_graph* graph, const cupola_node* after, size_t count, uint64_t to,
        uint32_t value, int width, size_t elements, cupola_node* node)
    int cupola_graph_add_call(
        cupola_graph* graph, const cupola_node* after, size_t count,
        void (*call)(void*) noexcept nogil, void* data, void (*release)(void*) noexcept nogil,
        cupola_node* node)
    int cupola_graph_add_child(
        cupola_graph* graph, const cupola_node* after, size_t count, const cupola_graph* child,
        cupola_node* node)
    int cupola_graph_add_empty(
        cupola_graph* graph, const cupola_node* after, size_t count, cupola_node* node)
    int cupola_graph_add_edge(cupola_graph* graph, cupola_node start, cupola_node end)
    int cupola_graph_hold(
        cupola_graph* graph, cupola_node node, void* owner,
        void (*release)(void*) noexcept nogil)
    int cupola_graph_nodes(const cupola_graph* graph, cupola_node* nodes, size_t* count)
    int cupola_graph_edges(
        const cupola_graph* graph, cupola_node* starts, cupola_node* ends, size_t* count)

    ctypedef struct cupola_node_info:
        int type
        const char* title
        cupola_dimensions dimensions
        uint64_t to
        uint64_t source "from"
        size_t bytes

    int cupola_node_get(const cupola_graph* graph, cupola_node node, cupola_node_info* out)
    int cupola_node_child(cupola_graph* graph, cupola_node node, cupola_graph** out)
    void* cupola_graph_handle(const cupola_graph* graph)
    int cupola_graph_device(const cupola_graph* graph)
    void cupola_graph_retain(cupola_graph* graph)
    void cupola_graph_release(cupola_graph* graph)
    int cupola_graph_instantiate(const cupola_graph* graph, cupola_graph_exec** out)
    int cupola_graph_exec_launch(cupola_graph_exec* exec, cupola_stream* stream)
    int cupola_graph_exec_upload(cupola_graph_exec* exec, cupola_stream* stream)
    int cupola_graph_exec_launch_at_once(cupola_graph_exec* exec, cupola_stream* stream)
    int cupola_graph_exec_set_kernel(
        cupola_graph_exec* exec, cupola_node node, cupola_kernel* kernel,
        const cupola_dimensions* dimensions, const void* buffer, void* owner,
        void (*release)(void*) noexcept nogil)
    int cupola_graph_exec_update(cupola_graph_exec* exec, const cupola_graph* graph)
    void* cupola_graph_exec_handle(const cupola_graph_exec* exec)
    void cupola_graph_exec_retain(cupola_graph_exec* exec)
    void cupola_graph_exec_release(cupola_graph_exec* exec)

    enum:
        CUPOLA_BORDER_ZERO
        CUPOLA_BORDER_CLAMP

    int cupola_hello(unsigned blocks, unsigned threads)
    int cupola_mandelbrot_async(
        uint64_t lattice, uint64_t graph, int iterations, float bound, int n,
        cupola_stream* stream)
    int cupola_saxpy_async(
        float a, uint64_t x, uint64_t y, uint64_t out, size_t n, cupola_stream* stream)
    int cupola_convolve_async(
        uint64_t image, uint64_t filter, uint64_t out, int height, int width, int channels,
        int filter_height, int filter_width, int border, cupola_stream* stream)
