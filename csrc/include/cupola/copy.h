/* cupola/copy.h - copies and fills, queued on a stream; part of the C ABI. */
#ifndef CUPOLA_COPY_H
#define CUPOLA_COPY_H

#include "cupola/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Queued on the stream. A pageable host source is read before the call returns; a pageable
 * destination is complete when the stream has been synchronized. */
CUPOLA_API int cupola_copy_to_device(uint64_t to, const void* from, size_t bytes, cupola_stream* s);
CUPOLA_API int cupola_copy_to_host(void* to, uint64_t from, size_t bytes, cupola_stream* s);
CUPOLA_API int cupola_copy_on_device(uint64_t to, uint64_t from, size_t bytes, cupola_stream* s);
/* Copies from one device's memory to another's, with or without peer access. The stream belongs to
 * one of the two devices. Unless it is being captured, the copy waits for the other device's
 * current stream, and later work of that stream waits for the copy. Between the CPU device and a
 * device of another driver it is a copy of host memory, which waits for both streams on the host
 * and returns when it is done. */
CUPOLA_API int cupola_copy_between(uint64_t to, int to_device, uint64_t from, int from_device,
                                   size_t bytes, cupola_stream* s);

/* Strided elements: the address of the first element, and along each axis the bytes from an element
 * to the next, of any sign. */
typedef struct cupola_strided {
    uint64_t address;
    const int64_t* strides;
} cupola_strided;
enum { CUPOLA_TO_DEVICE = 1, CUPOLA_TO_HOST = 2, CUPOLA_ON_DEVICE = 3 };
/* Queues a copy of every element of a shape. With host memory, `done` becomes 0 and nothing is
 * queued where the copy is neither linear nor made of long enough rows: copy through contiguous
 * memory then. Source and destination must not overlap, nor the destination's own elements. The
 * source's elements may (a stride of 0 repeats). The stream's device must reach both sides of a
 * CUPOLA_ON_DEVICE copy.
 */
CUPOLA_API int cupola_copy_strided(const cupola_strided* to, const cupola_strided* from,
                                   const int64_t* shape, int ndim, size_t itemsize, int direction,
                                   cupola_stream* s, int* done);
/* Writes `count` times the low `width` (1, 2 or 4) bytes of value. */
CUPOLA_API int cupola_fill(uint64_t to, uint32_t value, int width, size_t count, cupola_stream* s);
/* Writes `element` to every position of a shape. */
CUPOLA_API int cupola_fill_strided(const cupola_strided* to, const int64_t* shape, int ndim,
                                   const void* element, size_t itemsize, cupola_stream* s);

#ifdef __cplusplus
}
#endif

#endif /* CUPOLA_COPY_H */
