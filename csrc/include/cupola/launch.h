/* cupola/launch.h - launches of what was checked before; part of the C ABI. */
#ifndef CUPOLA_LAUNCH_H
#define CUPOLA_LAUNCH_H

#include "cupola/cupola.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where each argument lies in a launch's buffer: cupola_kernel_parameter_count pointers. */
CUPOLA_API int cupola_launch_point(const cupola_kernel* kernel, const void* buffer,
                                   void** pointers);
/* As cupola_launch, of dimensions and attributes (or NULL) which cupola_launch_check took for this
 * kernel and are not looked at again, and with the arguments' addresses in place of the buffer. */
CUPOLA_API int cupola_launch_pointed(cupola_kernel* kernel, const cupola_dimensions* dimensions,
                                     const cupola_attributes* attributes, void** pointers,
                                     cupola_stream* stream);

#ifdef __cplusplus
}
#endif

#endif /* CUPOLA_LAUNCH_H */
