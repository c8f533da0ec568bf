/* cupola/copy.h - copies and fills, queued on a stream; part of the C ABI. */
#ifndef CUPOLA_COPY_H
#define CUPOLA_COPY_H

#include "cupola/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif

#endif /* CUPOLA_COPY_H */
