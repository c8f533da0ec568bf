/* cupola/device.h - devices and peer access; part of the C ABI. */
#ifndef CUPOLA_DEVICE_H
#define CUPOLA_DEVICE_H

#include "cupola/library.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The current device is that of the driver's current context; without one it is device 0. So cupola
 * agrees with other libraries in the process. A pushed device of another driver comes first. Work
 * runs in the devices' primary contexts. */
CUPOLA_API int cupola_device_count(int* count);
/* The CPU device where it is used beside another driver. Where the driver is the CPU device, this
 * number and 0 lead to the same device. */
enum { CUPOLA_CPU_DEVICE = 64 };
/* The number of the CPU device: 0 where the CPU device is the process's driver, else
 * CUPOLA_CPU_DEVICE. Loads no other driver. */
CUPOLA_API int cupola_device_cpu(int* device);
/* The number by which the library names the device in its results. */
CUPOLA_API int cupola_device_canonical(int device, int* out);
CUPOLA_API int cupola_device_is_cpu(int device, int* out);
CUPOLA_API int cupola_device_current(int* device);
CUPOLA_API int cupola_device_push(int device); /* makes it current for this thread */
CUPOLA_API int cupola_device_pop(void);        /* restores the device before the push */
CUPOLA_API int cupola_device_name(int device, char* name, size_t size);
CUPOLA_API int cupola_device_attribute(int device, int attribute,
                                       int* value); /* CUdevice_attribute */
CUPOLA_API int cupola_device_memory(int device, size_t* free_bytes, size_t* total_bytes);
CUPOLA_API int cupola_device_synchronize(int device);

/* Query and set whether `device` can reach memory of `peer`, including pool memory. */
CUPOLA_API int cupola_peer_possible(int device, int peer, int* possible);
CUPOLA_API int cupola_peer_enable(int device, int peer, int enable);

#ifdef __cplusplus
}
#endif

#endif /* CUPOLA_DEVICE_H */
