# cupola/handles.pxd - opaque handle types of libcupola.so; they need no header.
# This file declares only types: a user links no library and imports no module at run time.

cdef extern from *:
    """
    typedef struct cupola_stream cupola_stream;
    typedef struct cupola_event cupola_event;
    typedef struct cupola_memory cupola_memory;
    typedef struct cupola_module cupola_module;
    typedef struct cupola_kernel cupola_kernel;
    typedef struct cupola_graph cupola_graph;
    typedef struct cupola_graph_exec cupola_graph_exec;
    typedef struct cupola_pipeline cupola_pipeline;

    typedef struct cupola_cuda_array cupola_cuda_array;
    typedef struct cupola_texture cupola_texture;
    typedef struct cupola_surface cupola_surface;
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
    ctypedef struct cupola_pipeline:
        pass
    ctypedef struct cupola_cuda_array:
        pass
    ctypedef struct cupola_texture:
        pass
    ctypedef struct cupola_surface:
        pass
