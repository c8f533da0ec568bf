/* cupola/memory.h - device memory, host memory and pools; part of the C ABI. */
#ifndef CUPOLA_MEMORY_H
#define CUPOLA_MEMORY_H

#include "cupola/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cupola_memory cupola_memory;

/* Device memory, from the device's stream-ordered pool where it has one. Later work of `stream` can
 * use it, and other streams after they waited for `stream`. Zero bytes give a null address. It is
 * freed after the work of all streams that used it (cupola_memory_use). */
CUPOLA_API int cupola_memory_allocate(int device, size_t bytes, cupola_stream* stream,
                                      cupola_memory** out);
/* Page-locked host memory, reachable from every device at the same address. Write-combined memory
 * is fast for a device to read and slow for the host to read. */
enum { CUPOLA_PINNED_WRITE_COMBINED = 1 };
CUPOLA_API int cupola_memory_allocate_pinned(int device, size_t bytes, unsigned flags,
                                             cupola_memory** out);
/* The caller's host memory, page-locked as long as the handle lives; the caller must keep it alive
 * until then. A range inside a registered range shares its registration. */
enum { CUPOLA_REGISTER_READ_ONLY = 1 }; /* device code only reads it */
CUPOLA_API int cupola_memory_register(int device, void* host, size_t bytes, unsigned flags,
                                      cupola_memory** out);
/* Managed memory: host and devices use one address, and the driver moves the data. */
CUPOLA_API int cupola_memory_allocate_managed(int device, size_t bytes, cupola_memory** out);
/* Queues a move of managed memory to a device; -1 is the host. */
CUPOLA_API int cupola_memory_prefetch(uint64_t address, size_t bytes, int device,
                                      cupola_stream* stream);
enum {
    CUPOLA_ADVISE_READ_MOSTLY = 1,
    CUPOLA_ADVISE_PREFERRED_LOCATION = 2, /* stays on that device */
    CUPOLA_ADVISE_ACCESSED_BY = 3         /* that device keeps a mapping of it */
};
/* Gives (`give` 1) or withdraws (0) advice on managed memory; device -1 is the host. */
CUPOLA_API int cupola_memory_advise(uint64_t address, size_t bytes, int advice, int give,
                                    int device);
/* Device memory that other processes can map. It is not from a pool: allocating and freeing it
 * waits for the device. */
CUPOLA_API int cupola_memory_allocate_exportable(int device, size_t bytes, cupola_memory** out);
enum { CUPOLA_IPC_HANDLE_SIZE = 64 };
/* The bytes of a handle for another process. Fails for memory that is not exportable. */
CUPOLA_API int cupola_memory_export(const cupola_memory* memory, void* handle);
CUPOLA_API int cupola_memory_import(int device, const void* handle, cupola_memory** out);
CUPOLA_API uint64_t cupola_memory_address(const cupola_memory* memory);
CUPOLA_API size_t cupola_memory_size(const cupola_memory* memory);
CUPOLA_API int cupola_memory_device(const cupola_memory* memory);
/* Declares that work queued on `stream` uses the memory. */
CUPOLA_API int cupola_memory_use(cupola_memory* memory, cupola_stream* stream);
CUPOLA_API void cupola_memory_retain(cupola_memory* memory);
CUPOLA_API void cupola_memory_release(cupola_memory* memory);

/* The device of an address; -1 for host memory that the driver does not know. */
CUPOLA_API int cupola_address_device(uint64_t address, int* device);
/* As above. Asks the driver of `device` first, where two drivers know the address. */
CUPOLA_API int cupola_address_find(uint64_t address, int device, int* out);

/* Attributes of an address that the driver allocated or registered. */
typedef struct cupola_address_info {
    int device;  /* -1: host memory that the driver does not know */
    int host;    /* 1: page-locked memory of the host */
    int managed; /* 1: managed memory */
} cupola_address_info;
CUPOLA_API int cupola_address_describe(uint64_t address, cupola_address_info* out);
/* The whole allocation around an address that is valid on the device: its begin and its bytes. Of
 * this library's memory these are the bytes that were requested. Zeros where the device's driver
 * does not know the address. */
CUPOLA_API int cupola_address_range(uint64_t address, int device, uint64_t* begin, size_t* size);
/* 1: other processes can open the device memory by cuIpcGetMemHandle's handle, as MPI libraries do.
   0 for memory of a pool. */
CUPOLA_API int cupola_address_exportable(uint64_t address, int* out);

typedef struct cupola_pool_info {
    uint64_t used, used_high;         /* bytes in use, and the maximum since the last reset */
    uint64_t reserved, reserved_high; /* bytes reserved on the device */
    uint64_t release_threshold;       /* unused bytes above it are returned at a synchronization */
} cupola_pool_info;
/* For the device's pool; these fail where the driver has no pools. */
CUPOLA_API int cupola_pool_get(int device, cupola_pool_info* out);
CUPOLA_API int cupola_pool_reset_high(int device);
CUPOLA_API int cupola_pool_trim(int device, uint64_t keep);
CUPOLA_API int cupola_pool_set_release_threshold(int device, uint64_t bytes);

#ifdef __cplusplus
}
#endif

#endif /* CUPOLA_MEMORY_H */
