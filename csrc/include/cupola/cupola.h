/* cupola/cupola.h - the C ABI of libcupola.so: all of its headers.
 *
 * Every function that can fail returns a cupola_status (0 is success) and keeps the text of its
 * failure for cupola_last_error() of the same thread. Handles are opaque and reference-counted:
 * *_create, *_load and similar functions give one reference, *_retain adds one, *_release removes
 * one. Both ignore NULL. In all other functions a NULL handle is an error; those without a status
 * return 0, "" or device -1. An object keeps alive what it depends on, so handles may be released
 * in any order. All functions may be called from any thread. Device addresses are uint64_t. */
#ifndef CUPOLA_CUPOLA_H
#define CUPOLA_CUPOLA_H

#include "cupola/bench.h"
#include "cupola/copy.h"
#include "cupola/device.h"
#include "cupola/driver.h"
#include "cupola/elementwise.h"
#include "cupola/event.h"
#include "cupola/graph.h"
#include "cupola/image.h"
#include "cupola/kernel.h"
#include "cupola/launch.h"
#include "cupola/library.h"
#include "cupola/memory.h"
#include "cupola/module.h"
#include "cupola/operation.h"
#include "cupola/output.h"
#include "cupola/owner.h"
#include "cupola/pipeline.h"
#include "cupola/profile.h"
#include "cupola/reduce.h"
#include "cupola/shipped.h"
#include "cupola/stream.h"
#include "cupola/tensor.h"
#include "cupola/tensor_map.h"
#include "cupola/texture.h"
#include "cupola/work.h"

#endif /* CUPOLA_CUPOLA_H */
