# cupola/handles.pxd - the handles of libcupola.so as opaque types: no header is needed for them.
# Types alone: there is nothing here to link, and nothing to import when a program runs.

cdef extern from *:
    """
    typedef struct cupola_stream cupola_stream;
    typedef struct cupola_event cupola_event;
    typedef struct cupola_memory cupola_memory;
    typedef struct cupola_module cupola_module;
    typedef struct cupola_kernel cupola_kernel;
    typedef struct cupola_graph cupola_graph;
    typedef struct cupola_graph_exec cupola_graph_exec;
    """
    ctypedef struct cupola_stream:
        pass
    ctypedef struct cupola_event:
        pass
    ctypedef struct cupola_memory:
        pass
    ctypedef struct cupola_module:
        pass
    ctypedef struct cupola_kernel:
        pass
    ctypedef struct cupola_graph:
        pass
    ctypedef struct cupola_graph_exec:
        pass
