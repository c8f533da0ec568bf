/* cupola/graph.h - graphs of work that is launched many times; part of the C ABI. */
#ifndef CUPOLA_GRAPH_H
#define CUPOLA_GRAPH_H

#include "cupola/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cupola_graph cupola_graph;
typedef struct cupola_graph_exec cupola_graph_exec;
/* A node is the driver's CUgraphNode, valid as long as its graph. */
typedef void* cupola_node;

/* Unsafe driver calls during a capture are forbidden to all threads, to the capturing thread, or to
 * none. This library's own allocations and loads are allowed in each mode. */
enum { CUPOLA_CAPTURE_GLOBAL = 0, CUPOLA_CAPTURE_THREAD_LOCAL = 1, CUPOLA_CAPTURE_RELAXED = 2 };

/* From now on, work queued on the stream, and on streams that wait for it, becomes part of a graph
 * and does not run. Memory allocated during the capture is usable immediately and stays. */
CUPOLA_API int cupola_capture_begin(cupola_stream* stream, int mode);
/* Ends the capture and gives its graph, a new reference. An error where the capture was
 * invalidated; the capture has ended then, too. */
CUPOLA_API int cupola_capture_end(cupola_stream* stream, cupola_graph** out);
/* Sets `held` to whether the stream is being captured. If so, the graph keeps the given owner and
 * calls release(owner) when it no longer needs it. */
CUPOLA_API int cupola_capture_hold(cupola_stream* stream, void* owner, void (*release)(void*),
                                   int* held);
/* An error where a running capture allocated the memory at the address and the stream takes no part
 * in the capture: the memory has no contents before the graph is launched. Copies, fills and
 * launches check this; other users of the address call it first. */
CUPOLA_API int cupola_capture_require_contents(cupola_stream* stream, uint64_t address);
CUPOLA_API int cupola_captures(void); /* 1 while this library captures a stream, else 0 */

CUPOLA_API int cupola_graph_create(int device, cupola_graph** out);
/* Each adds a node that runs after the `count` nodes at `after`. The graph keeps alive the kernel,
 * and this library's memory that arguments and addresses refer to. */
CUPOLA_API int cupola_graph_add_kernel(cupola_graph* graph, const cupola_node* after, size_t count,
                                       cupola_kernel* kernel, const cupola_dimensions* dimensions,
                                       const void* buffer, cupola_node* node);
CUPOLA_API int cupola_graph_add_copy(cupola_graph* graph, const cupola_node* after, size_t count,
                                     uint64_t to, uint64_t from, size_t bytes, cupola_node* node);
CUPOLA_API int cupola_graph_add_fill(cupola_graph* graph, const cupola_node* after, size_t count,
                                     uint64_t to, uint32_t value, int width, size_t elements,
                                     cupola_node* node);
/* See cupola_stream_call; `release` is called after the last launch and the graph have ended. */
CUPOLA_API int cupola_graph_add_call(cupola_graph* graph, const cupola_node* after, size_t count,
                                     void (*call)(void*), void* data, void (*release)(void*),
                                     cupola_node* node);
/* Adds a copy of the other graph as it is now. */
CUPOLA_API int cupola_graph_add_child(cupola_graph* graph, const cupola_node* after, size_t count,
                                      const cupola_graph* child, cupola_node* node);
CUPOLA_API int cupola_graph_add_empty(cupola_graph* graph, const cupola_node* after, size_t count,
                                      cupola_node* node);
CUPOLA_API int cupola_graph_add_edge(cupola_graph* graph, cupola_node from, cupola_node to);
/* The graph and graphs made from it keep the owner for the node. */
CUPOLA_API int cupola_graph_hold(cupola_graph* graph, cupola_node node, void* owner,
                                 void (*release)(void*));
/* Set `count` to the total; where a buffer is given, up to `count` entries are written. */
CUPOLA_API int cupola_graph_nodes(const cupola_graph* graph, cupola_node* nodes, size_t* count);
CUPOLA_API int cupola_graph_edges(const cupola_graph* graph, cupola_node* from, cupola_node* to,
                                  size_t* count);

typedef struct cupola_node_info {
    int type;                     /* CUgraphNodeType */
    const char* title;            /* a kernel's, or ""; valid until this thread's next call */
    cupola_dimensions dimensions; /* of a kernel */
    uint64_t to, from;            /* of a copy; `to` of a fill */
    size_t bytes;                 /* of a copy or a fill */
} cupola_node_info;
CUPOLA_API int cupola_node_get(const cupola_graph* graph, cupola_node node, cupola_node_info* out);
/* The child graph of a node, to read: objects used by nodes added to it are not kept alive. */
CUPOLA_API int cupola_node_child(cupola_graph* graph, cupola_node node, cupola_graph** out);
CUPOLA_API void* cupola_graph_handle(const cupola_graph* graph); /* CUgraph */
CUPOLA_API int cupola_graph_device(const cupola_graph* graph);
CUPOLA_API void cupola_graph_retain(cupola_graph* graph);
CUPOLA_API void cupola_graph_release(cupola_graph* graph);

/* Instantiates the graph as it is now. */
CUPOLA_API int cupola_graph_instantiate(const cupola_graph* graph, cupola_graph_exec** out);
CUPOLA_API int cupola_graph_exec_launch(cupola_graph_exec* exec, cupola_stream* stream);
/* Like cupola_graph_exec_launch, for a caller that holds a lock: see cupola_launch_at_once. */
CUPOLA_API int cupola_graph_exec_launch_at_once(cupola_graph_exec* exec, cupola_stream* stream);
CUPOLA_API int cupola_graph_exec_upload(cupola_graph_exec* exec, cupola_stream* stream);
/* Replaces the kernel, dimensions and arguments of a kernel node of the original graph, for later
 * launches. The owner, where given, is always released; after a failure, before the return. */
CUPOLA_API int cupola_graph_exec_set_kernel(cupola_graph_exec* exec, cupola_node node,
                                            cupola_kernel* kernel,
                                            const cupola_dimensions* dimensions, const void* buffer,
                                            void* owner, void (*release)(void*));
/* Updates to another graph of the same nodes and edges. */
CUPOLA_API int cupola_graph_exec_update(cupola_graph_exec* exec, const cupola_graph* graph);
CUPOLA_API void* cupola_graph_exec_handle(const cupola_graph_exec* exec); /* CUgraphExec */
CUPOLA_API void cupola_graph_exec_retain(cupola_graph_exec* exec);
CUPOLA_API void cupola_graph_exec_release(cupola_graph_exec* exec);

#ifdef __cplusplus
}
#endif

#endif /* CUPOLA_GRAPH_H */
