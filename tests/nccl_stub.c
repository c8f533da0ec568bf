/* tests/nccl_stub.c - the functions of NCCL that cupola calls, for ranks that are threads or devices
 * of one process, on the CPU device. It refuses arguments that NCCL refuses.
 *
 * An operation is a host function of its stream: it waits for those of the other ranks. Ranks whose
 * arguments differ get an asynchronous error.
 */
#ifdef CONSTANTS  // compiled alone: the header declares the functions with its own types
#if __has_include("nccl.h")
#include "nccl.h"
_Static_assert(NCCL_UNIQUE_ID_BYTES == 128 && ncclInProgress == 7, "identifier and status");
_Static_assert(ncclUnhandledCudaError == 1 && ncclInvalidArgument == 4, "status");
_Static_assert(ncclInvalidUsage == 5 && ncclRemoteError == 6, "status");
_Static_assert(ncclSum == 0 && ncclProd == 1 && ncclMax == 2 && ncclMin == 3, "operations");
_Static_assert(ncclAvg == 4, "operations");
_Static_assert(ncclInt8 == 0 && ncclUint8 == 1 && ncclInt32 == 2 && ncclUint32 == 3, "types");
_Static_assert(ncclInt64 == 4 && ncclUint64 == 5 && ncclFloat16 == 6, "types");
_Static_assert(ncclFloat32 == 7 && ncclFloat64 == 8 && ncclBfloat16 == 9, "types");
#if NCCL_VERSION_CODE >= 22400
_Static_assert(ncclFloat8e4m3 == 10 && ncclFloat8e5m2 == 11, "types");
#endif
#endif
#else
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_stub_reduce.h"

enum { OK, CUDA = 1, INTERNAL = 3, INVALID = 4, USAGE = 5, REMOTE = 6 };
enum { ALL_REDUCE, REDUCE, BROADCAST, ALL_GATHER, REDUCE_SCATTER, SEND, RECEIVE };
enum { MOST = 16, TYPES = 10 };
static const size_t sizes[TYPES] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};

typedef struct {
    char content[128];
} Id;

typedef struct Comm Comm;

/* A call, as its rank gave it. */
typedef struct {
    Comm* comm;
    int kind, type, op, root;
    const char* in;
    char* out;
    size_t count;
} Call;

/* Ranks that communicate: the next call of each rank, and which rank has sent which data. */
typedef struct Clique {
    struct Clique* next;
    Id id;
    int size, joined, taken[MOST];
    int arrived, left, status;
    Call calls[MOST];
    const Call* sent[MOST][MOST]; /* from, to */
} Clique;

struct Comm {
    Clique* clique;
    int rank, device, error, aborted, queued, live;
};

/* Calls that run together on a stream: one call, or those of a group. */
typedef struct {
    void* stream;
    Comm* comm;
    int length;
    Call calls[];
} Batch;

/* Work that a group does at its end. */
typedef struct {
    Call call;
    void* stream;
    Comm** made; /* a communicator that waits for its ranks */
} Pending;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static Clique* cliques;
static __thread int depth, failed, pending_count;
static __thread Pending pending[256];
static __thread char last[300];
static unsigned made;

/* For the tests. */
int reported_version = 22809, open_communicators, destroyed, aborted, batches;

#define FAIL(status, ...) (snprintf(last, sizeof last, __VA_ARGS__), failed = 1, status)

/* The driver that the process has loaded. */
static void* driver(const char* name) {
    static void* library;
    if (!library) library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    return library ? dlsym(library, name) : NULL;
}
#define DRIVER(name, ...) ((int (*)(__VA_ARGS__))driver(#name))

const char* ncclGetErrorString(int status) {
    static const char* texts[] = {"no error",       "unhandled cuda error", "system error",
                                  "internal error", "invalid argument",     "invalid usage",
                                  "remote process exited or there was a network error"};
    return status >= 0 && status < 7 ? texts[status] : "unknown";
}

const char* ncclGetLastError(const Comm* comm) { return last; }

int ncclGetVersion(int* version) {
    *version = reported_version;
    return OK;
}

int ncclGetUniqueId(Id* id) {
    memset(id, 0, sizeof *id);
    pthread_mutex_lock(&lock);
    snprintf(id->content, sizeof id->content, "stub %u", ++made);
    pthread_mutex_unlock(&lock);
    return OK;
}

static int wait_for_ranks(Comm* comm) {
    while (comm->clique->joined < comm->clique->size) pthread_cond_wait(&changed, &lock);
    return OK;
}

int ncclCommInitRank(Comm** out, int size, Id id, int rank) {
    if (size < 1 || size > MOST || rank < 0 || rank >= size)
        return FAIL(INVALID, "rank %d of %d", rank, size);
    if (strncmp(id.content, "stub ", 5)) return FAIL(INVALID, "no identifier");
    int device;
    if (DRIVER(cuCtxGetDevice, int*)(&device)) return FAIL(CUDA, "no current device");
    pthread_mutex_lock(&lock);
    Clique* clique = cliques;
    while (clique && memcmp(&clique->id, &id, sizeof id)) clique = clique->next;
    if (!clique) {
        clique = calloc(1, sizeof *clique);
        clique->id = id, clique->size = size, clique->next = cliques;
        cliques = clique;
    }
    int status = OK;
    if (clique->size != size || clique->taken[rank]) {
        status = FAIL(INVALID, "rank %d of %d joins twice, or the sizes differ", rank, size);
    } else {
        Comm* comm = calloc(1, sizeof *comm);
        comm->clique = clique, comm->rank = rank, comm->device = device, comm->live = 1;
        clique->taken[rank] = 1, ++clique->joined, ++open_communicators;
        pthread_cond_broadcast(&changed);
        *out = comm;
        if (depth) {
            pending[pending_count++] = (Pending){.made = out};
        } else {
            status = wait_for_ranks(comm);
        }
    }
    pthread_mutex_unlock(&lock);
    return status;
}

int ncclCommGetAsyncError(Comm* comm, int* status) {
    pthread_mutex_lock(&lock);
    *status = comm->error;
    pthread_mutex_unlock(&lock);
    return OK;
}

static int release(Comm* comm, int abort) {
    if (!comm || !comm->live) return FAIL(INVALID, "the communicator was destroyed already");
    pthread_mutex_lock(&lock);
    if (abort) {
        comm->aborted = 1;
        pthread_cond_broadcast(&changed);
    }
    while (comm->queued) pthread_cond_wait(&changed, &lock);
    comm->live = 0, --open_communicators, ++*(abort ? &aborted : &destroyed);
    pthread_mutex_unlock(&lock);
    return OK;
}

int ncclCommDestroy(Comm* comm) { return release(comm, 0); }
int ncclCommAbort(Comm* comm) { return release(comm, 1); }

/* All ranks have arrived: their results, from copies, since operations are in place. */
static int compute(Clique* clique) {
    const Call* calls = clique->calls;
    const Call first = calls[0];
    const int ranks = clique->size;
    const char* buffers[MOST];
    for (int rank = 0; rank < ranks; ++rank) buffers[rank] = calls[rank].in;
    for (int rank = 1; rank < ranks; ++rank)
        if (calls[rank].kind != first.kind || calls[rank].type != first.type ||
            calls[rank].op != first.op || calls[rank].root != first.root ||
            calls[rank].count != first.count)
            return REMOTE;
    const size_t bytes = first.count * sizes[first.type];
    const size_t total = first.kind == ALL_GATHER || first.kind == REDUCE_SCATTER ? ranks : 1;
    char* result = malloc(total * bytes);
    if (first.kind == BROADCAST) memcpy(result, calls[first.root].in, bytes);
    else if (first.kind == ALL_GATHER)
        for (int rank = 0; rank < ranks; ++rank) memcpy(result + rank * bytes, calls[rank].in, bytes);
    else
        combine(result, buffers, ranks, first.type, first.op, total * first.count);
    for (int rank = 0; rank < ranks; ++rank)
        if (first.kind == REDUCE_SCATTER) memcpy(calls[rank].out, result + rank * bytes, bytes);
        else if (first.kind != REDUCE || rank == first.root)
            memcpy(calls[rank].out, result, total * bytes);
    free(result);
    return OK;
}

/* The lock is held. A rank leaves when all have the result. */
static void collective(const Call* call) {
    Clique* clique = call->comm->clique;
    while (clique->left && !call->comm->aborted) pthread_cond_wait(&changed, &lock);
    clique->calls[call->comm->rank] = *call;
    if (++clique->arrived == clique->size) {
        clique->status = compute(clique);
        clique->left = clique->size;
        clique->arrived = 0;
        pthread_cond_broadcast(&changed);
    }
    while (!clique->left && !call->comm->aborted) pthread_cond_wait(&changed, &lock);
    if (call->comm->aborted) return;
    if (clique->status) call->comm->error = clique->status;
    if (!--clique->left) pthread_cond_broadcast(&changed);
}

static int is_transfer(const Call* call) { return call->kind >= SEND; }

/* The lock is held. Sends of the batch are offered at once, so that ranks can exchange. */
static void transfer(Batch* batch) {
    Clique* clique = batch->comm->clique;
    Comm* comm = batch->comm;
    char done[256] = {0};
    for (int rest = 1; rest && !comm->aborted;) {
        int moved = rest = 0;
        for (int i = 0; i < batch->length; ++i) {
            const Call* call = &batch->calls[i];
            if (!is_transfer(call) || done[i] == 2) continue;
            const int sends = call->kind == SEND;
            const Call** box = sends ? &clique->sent[comm->rank][call->root]
                                     : &clique->sent[call->root][comm->rank];
            if (sends && done[i] == 0 && !*box) {
                *box = call, done[i] = 1, moved = 1;
            } else if (sends && done[i] == 1 && *box != call) {
                done[i] = 2, moved = 1;
            } else if (!sends && *box) {
                const Call* from = *box;
                if (from->count * sizes[from->type] == call->count * sizes[call->type])
                    memcpy(call->out, from->in, call->count * sizes[call->type]);
                else
                    comm->error = from->comm->error = REMOTE;
                *box = NULL, done[i] = 2, moved = 1;
            }
            rest |= done[i] != 2;
        }
        if (moved) pthread_cond_broadcast(&changed);
        else if (rest) pthread_cond_wait(&changed, &lock);
    }
}

static void run(void* data) {
    Batch* batch = data;
    pthread_mutex_lock(&lock);
    ++batch->comm->queued, ++batches;
    transfer(batch);
    for (int i = 0; i < batch->length; ++i)
        if (!is_transfer(&batch->calls[i]) && !batch->comm->aborted) collective(&batch->calls[i]);
    --batch->comm->queued;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* Queues calls of one communicator and stream. A graph may run a batch often: it is never freed. */
static int queue_batch(Batch* batch) {
    void* context;
    int status = OK;
    if (DRIVER(cuDevicePrimaryCtxRetain, void**, int)(&context, batch->comm->device) ||
        DRIVER(cuCtxPushCurrent_v2, void*)(context))
        return FAIL(CUDA, "the device has no context");
    if (DRIVER(cuLaunchHostFunc, void*, void (*)(void*), void*)(batch->stream, run, batch))
        status = FAIL(CUDA, "the stream takes no work");
    DRIVER(cuCtxPopCurrent_v2, void**)(&context);
    DRIVER(cuDevicePrimaryCtxRelease_v2, int)(batch->comm->device);
    return status;
}

static int check_buffer(const Call* call, const void* buffer, const char* name) {
    int device = -1;
    if (DRIVER(cuPointerGetAttribute, void*, int, uint64_t)(&device, 9, (uint64_t)buffer))
        return FAIL(INVALID, "%s is no device memory", name);
    if (device != call->comm->device)
        return FAIL(INVALID, "%s is of device %d, the communicator of %d", name, device,
                    call->comm->device);
    return OK;
}

static int check_stream(const Comm* comm, void* stream) {
    void* context;
    int device = comm->device;
    if ((uintptr_t)stream > 2) {
        if (DRIVER(cuStreamGetCtx, void*, void**)(stream, &context)) return FAIL(CUDA, "no stream");
        DRIVER(cuCtxPushCurrent_v2, void*)(context);
        DRIVER(cuCtxGetDevice, int*)(&device);
        DRIVER(cuCtxPopCurrent_v2, void**)(&context);
    }
    return device == comm->device ? OK : FAIL(INVALID, "the stream is of device %d", device);
}

static int submit(Call call, void* stream) {
    last[0] = 0;
    if (!call.comm || !call.comm->live) return FAIL(INVALID, "the communicator was destroyed");
    if (call.type < 0 || call.type >= TYPES) return FAIL(INVALID, "%d is no type", call.type);
    if (call.op < 0 || call.op > 4) return FAIL(INVALID, "%d is no operation", call.op);
    if (call.root < 0 || call.root >= call.comm->clique->size)
        return FAIL(INVALID, "invalid root %d", call.root);
    int status = check_stream(call.comm, stream);
    if (!status && call.in) status = check_buffer(&call, call.in, "sendbuff");
    if (!status && call.out) status = check_buffer(&call, call.out, "recvbuff");
    if (status) return status;
    if (depth) {
        if (pending_count == 256) return FAIL(INTERNAL, "too many calls in a group");
        pending[pending_count++] = (Pending){.call = call, .stream = stream};
        return OK;
    }
    Batch* batch = calloc(1, sizeof *batch + sizeof call);
    batch->stream = stream, batch->comm = call.comm, batch->length = 1, batch->calls[0] = call;
    return queue_batch(batch);
}

int ncclGroupStart(void) {
    if (!depth++) failed = pending_count = 0;
    return OK;
}

/* One batch for each communicator and stream, in the order of the calls. */
int ncclGroupEnd(void) {
    if (!depth) return FAIL(USAGE, "ncclGroupEnd without ncclGroupStart");
    if (--depth) return OK;
    if (failed) return INVALID;
    int status = OK;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < pending_count; ++i)
        if (pending[i].made) wait_for_ranks(*pending[i].made);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < pending_count && !status; ++i) {
        Comm* comm = pending[i].call.comm;
        if (!comm) continue;
        Batch* batch = calloc(1, sizeof *batch + pending_count * sizeof(Call));
        batch->comm = comm, batch->stream = pending[i].stream;
        for (int k = i; k < pending_count; ++k)
            if (pending[k].call.comm == comm && pending[k].stream == batch->stream) {
                batch->calls[batch->length++] = pending[k].call;
                pending[k].call.comm = NULL;
            }
        status = queue_batch(batch);
    }
    return status;
}

int ncclAllReduce(const void* in, void* out, size_t count, int type, int op, Comm* comm, void* s) {
    return submit((Call){comm, ALL_REDUCE, type, op, 0, in, out, count}, s);
}

int ncclReduce(const void* in, void* out, size_t count, int type, int op, int root, Comm* comm,
               void* s) {
    return submit((Call){comm, REDUCE, type, op, root, in, out, count}, s);
}

int ncclBroadcast(const void* in, void* out, size_t count, int type, int root, Comm* comm, void* s) {
    return submit((Call){comm, BROADCAST, type, 0, root, in, out, count}, s);
}

int ncclAllGather(const void* in, void* out, size_t count, int type, Comm* comm, void* s) {
    return submit((Call){comm, ALL_GATHER, type, 0, 0, in, out, count}, s);
}

int ncclReduceScatter(const void* in, void* out, size_t count, int type, int op, Comm* comm,
                      void* s) {
    return submit((Call){comm, REDUCE_SCATTER, type, op, 0, in, out, count}, s);
}

int ncclSend(const void* in, size_t count, int type, int peer, Comm* comm, void* s) {
    return submit((Call){comm, SEND, type, 0, peer, in, NULL, count}, s);
}

int ncclRecv(void* out, size_t count, int type, int peer, Comm* comm, void* s) {
    return submit((Call){comm, RECEIVE, type, 0, peer, NULL, out, count}, s);
}
#endif
