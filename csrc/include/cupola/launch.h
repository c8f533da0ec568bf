/* cupola/launch.h - launches of what was checked before; part of the C ABI. */
#ifndef CUPOLA_LAUNCH_H
#define CUPOLA_LAUNCH_H

#include "cupola/cupola.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As cupola_launch, of dimensions and attributes (or NULL) which cupola_launch_check took for this
 * kernel: they are not looked at again. */
CUPOLA_API int cupola_launch_checked(cupola_kernel* kernel, const cupola_dimensions* dimensions,
                                     const cupola_attributes* attributes, const void* buffer,
                                     cupola_stream* stream);

#ifdef __cplusplus
}
#endif

#endif /* CUPOLA_LAUNCH_H */
