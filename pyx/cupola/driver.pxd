# cupola/driver.pxd - the functions of the loaded CUDA driver, for Cython modules that call them:
#
#     from cupola.driver cimport CUdeviceptr, check_result, cuMemAlloc
#
#     cdef CUdeviceptr address
#     with nogil:
#         check_result(cuMemAlloc(&address, 1024), "cuMemAlloc")
#
# No library or header is needed. The functions are those that cupola calls, each with the signature
# of the CUDA version in csrc/runtime/driver/symbols.hpp. The first call loads and initializes the
# driver. Where that fails, the functions return CUDA_ERROR_NOT_INITIALIZED; ensure() loads the
# driver too, and raises the reason. Functions that the driver lacks return
# CUDA_ERROR_NOT_SUPPORTED. Handles of cupola's objects come from get_handle() of Stream, Event and
# Kernel. Make a context current with the driver's functions or with `with cupola.Device(0):`.

# Loads the driver if needed, and issues its warning once.
cdef int ensure() except -1

# Raises the error of a driver's result code; `call` is the function's name.
cdef int fail_result(int code, const char* call) except -1 nogil

# Returns 0 for a successful result (a CUresult), else raises its error; `call` is the function's
# name for the message.
cdef inline int check_result(int code, const char* call) except -1 nogil:
    return 0 if code == 0 else fail_result(code, call)

# From here on written by tools/driver_pxd.py.
cdef extern from *:
    """
    struct CUarray_st;
    struct CUctx_st;
    struct CUevent_st;
    struct CUfunc_st;
    struct CUgraph_st;
    struct CUgraphExec_st;
    struct CUgraphNode_st;
    struct CUlinkState_st;
    struct CUmemPoolHandle_st;
    struct CUmod_st;
    struct CUstream_st;
    struct CUsurfref_st;
    struct CUtexref_st;
    """
    struct CUarray_st:
        pass
    struct CUctx_st:
        pass
    struct CUevent_st:
        pass
    struct CUfunc_st:
        pass
    struct CUgraph_st:
        pass
    struct CUgraphExec_st:
        pass
    struct CUgraphNode_st:
        pass
    struct CUlinkState_st:
        pass
    struct CUmemPoolHandle_st:
        pass
    struct CUmod_st:
        pass
    struct CUstream_st:
        pass
    struct CUsurfref_st:
        pass
    struct CUtexref_st:
        pass

ctypedef CUarray_st* CUarray
ctypedef CUctx_st* CUcontext
ctypedef CUevent_st* CUevent
ctypedef CUfunc_st* CUfunction
ctypedef CUgraph_st* CUgraph
ctypedef CUgraphExec_st* CUgraphExec
ctypedef CUgraphNode_st* CUgraphNode
ctypedef CUlinkState_st* CUlinkState
ctypedef CUmemPoolHandle_st* CUmemoryPool
ctypedef CUmod_st* CUmodule
ctypedef CUstream_st* CUstream
ctypedef CUsurfref_st* CUsurfref
ctypedef CUtexref_st* CUtexref
ctypedef int CUdevice
ctypedef unsigned long long CUdeviceptr
ctypedef unsigned long long CUsurfObject
ctypedef unsigned long long CUtexObject
ctypedef unsigned int cuuint32_t
ctypedef unsigned long long cuuint64_t
ctypedef void (*CUhostFn)(void* userData) noexcept nogil
ctypedef size_t (*CUoccupancyB2DSize)(int blockSize) noexcept nogil
cdef struct CUipcEventHandle:
    char reserved[64]
cdef struct CUipcMemHandle:
    char reserved[64]

# cuda.h's enums.
ctypedef int CUaddress_mode
ctypedef int CUarray_format
ctypedef int CUdevice_attribute
ctypedef int CUfilter_mode
ctypedef int CUfunction_attribute
ctypedef int CUgraphExecUpdateResult
ctypedef int CUgraphNodeType
ctypedef int CUjitInputType
ctypedef int CUjit_option
ctypedef int CUmemPool_attribute
ctypedef int CUmem_advise
ctypedef int CUpointer_attribute
ctypedef int CUresult
ctypedef int CUstreamCaptureMode
ctypedef int CUstreamCaptureStatus
ctypedef int CUtensorMap
ctypedef int CUtensorMapDataType
ctypedef int CUtensorMapFloatOOBfill
ctypedef int CUtensorMapInterleave
ctypedef int CUtensorMapL2promotion
ctypedef int CUtensorMapSwizzle

# cuda.h's structs, which are passed only by address.
ctypedef void CUDA_ARRAY3D_DESCRIPTOR
ctypedef void CUDA_ARRAY_DESCRIPTOR
ctypedef void CUDA_HOST_NODE_PARAMS
ctypedef void CUDA_KERNEL_NODE_PARAMS
ctypedef void CUDA_MEMCPY2D
ctypedef void CUDA_MEMCPY3D
ctypedef void CUDA_MEMSET_NODE_PARAMS
ctypedef void CUDA_RESOURCE_DESC
ctypedef void CUDA_RESOURCE_VIEW_DESC
ctypedef void CUDA_TEXTURE_DESC
ctypedef void CUlaunchConfig
ctypedef void CUmemAccessDesc
ctypedef void CUmemPoolProps

cdef CUresult cuInit(unsigned int Flags) noexcept nogil
cdef CUresult cuCtxGetCurrent(CUcontext* pctx) noexcept nogil
cdef CUresult cuGraphLaunch(CUgraphExec hGraph, CUstream hStream) noexcept nogil
cdef CUresult cuLaunchKernel(
    CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
    unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
    unsigned int sharedMemBytes, CUstream hStream, void** kernelParams,
    void** extra) noexcept nogil
cdef CUresult cuDriverGetVersion(int* driverVersion) noexcept nogil
cdef CUresult cuGetErrorName(CUresult error, const char** pStr) noexcept nogil
cdef CUresult cuGetErrorString(CUresult error, const char** pStr) noexcept nogil
cdef CUresult cuDeviceGetCount(int* count) noexcept nogil
cdef CUresult cuDeviceGet(CUdevice* device, int ordinal) noexcept nogil
cdef CUresult cuDeviceGetName(char* name, int len, CUdevice dev) noexcept nogil
cdef CUresult cuDeviceGetAttribute(int* pi, CUdevice_attribute attrib, CUdevice dev) noexcept nogil
cdef CUresult cuDeviceTotalMem(size_t* bytes, CUdevice dev) noexcept nogil
cdef CUresult cuDevicePrimaryCtxRetain(CUcontext* pctx, CUdevice dev) noexcept nogil
cdef CUresult cuCtxSetCurrent(CUcontext ctx) noexcept nogil
cdef CUresult cuCtxPushCurrent(CUcontext ctx) noexcept nogil
cdef CUresult cuCtxPopCurrent(CUcontext* pctx) noexcept nogil
cdef CUresult cuCtxGetDevice(CUdevice* device) noexcept nogil
cdef CUresult cuCtxSynchronize() noexcept nogil
cdef CUresult cuStreamCreateWithPriority(
    CUstream* phStream, unsigned int flags, int priority) noexcept nogil
cdef CUresult cuStreamDestroy(CUstream hStream) noexcept nogil
cdef CUresult cuStreamSynchronize(CUstream hStream) noexcept nogil
cdef CUresult cuStreamQuery(CUstream hStream) noexcept nogil
cdef CUresult cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags) noexcept nogil
cdef CUresult cuStreamGetPriority(CUstream hStream, int* priority) noexcept nogil
cdef CUresult cuStreamGetFlags(CUstream hStream, unsigned int* flags) noexcept nogil
cdef CUresult cuStreamIsCapturing(
    CUstream hStream, CUstreamCaptureStatus* captureStatus) noexcept nogil
cdef CUresult cuStreamGetCaptureInfo(
    CUstream hStream, CUstreamCaptureStatus* captureStatus_out, cuuint64_t* id_out,
    CUgraph* graph_out, const CUgraphNode** dependencies_out,
    size_t* numDependencies_out) noexcept nogil
cdef CUresult cuStreamUpdateCaptureDependencies(
    CUstream hStream, CUgraphNode* dependencies, size_t numDependencies,
    unsigned int flags) noexcept nogil
cdef CUresult cuStreamBeginCapture(CUstream hStream, CUstreamCaptureMode mode) noexcept nogil
cdef CUresult cuStreamEndCapture(CUstream hStream, CUgraph* phGraph) noexcept nogil
cdef CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) noexcept nogil
cdef CUresult cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void* userData) noexcept nogil
cdef CUresult cuCtxGetStreamPriorityRange(int* leastPriority, int* greatestPriority) noexcept nogil
cdef CUresult cuGraphCreate(CUgraph* phGraph, unsigned int flags) noexcept nogil
cdef CUresult cuGraphDestroy(CUgraph hGraph) noexcept nogil
cdef CUresult cuGraphClone(CUgraph* phGraphClone, CUgraph originalGraph) noexcept nogil
cdef CUresult cuGraphNodeFindInClone(
    CUgraphNode* phNode, CUgraphNode hOriginalNode, CUgraph hClonedGraph) noexcept nogil
cdef CUresult cuGraphAddKernelNode(
    CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
    size_t numDependencies, const CUDA_KERNEL_NODE_PARAMS* nodeParams) noexcept nogil
cdef CUresult cuGraphAddMemcpyNode(
    CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
    size_t numDependencies, const CUDA_MEMCPY3D* copyParams, CUcontext ctx) noexcept nogil
cdef CUresult cuGraphAddMemsetNode(
    CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
    size_t numDependencies, const CUDA_MEMSET_NODE_PARAMS* memsetParams,
    CUcontext ctx) noexcept nogil
cdef CUresult cuGraphAddHostNode(
    CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
    size_t numDependencies, const CUDA_HOST_NODE_PARAMS* nodeParams) noexcept nogil
cdef CUresult cuGraphAddChildGraphNode(
    CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
    size_t numDependencies, CUgraph childGraph) noexcept nogil
cdef CUresult cuGraphAddEmptyNode(
    CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
    size_t numDependencies) noexcept nogil
cdef CUresult cuGraphAddDependencies(
    CUgraph hGraph, const CUgraphNode* from_, const CUgraphNode* to,
    size_t numDependencies) noexcept nogil
cdef CUresult cuGraphGetNodes(CUgraph hGraph, CUgraphNode* nodes, size_t* numNodes) noexcept nogil
cdef CUresult cuGraphGetEdges(
    CUgraph hGraph, CUgraphNode* from_, CUgraphNode* to, size_t* numEdges) noexcept nogil
cdef CUresult cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType* type) noexcept nogil
cdef CUresult cuGraphKernelNodeGetParams(
    CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS* nodeParams) noexcept nogil
cdef CUresult cuGraphKernelNodeSetParams(
    CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS* nodeParams) noexcept nogil
cdef CUresult cuGraphMemcpyNodeGetParams(
    CUgraphNode hNode, CUDA_MEMCPY3D* nodeParams) noexcept nogil
cdef CUresult cuGraphMemsetNodeGetParams(
    CUgraphNode hNode, CUDA_MEMSET_NODE_PARAMS* nodeParams) noexcept nogil
cdef CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode hNode, CUgraph* phGraph) noexcept nogil
cdef CUresult cuGraphExecDestroy(CUgraphExec hGraphExec) noexcept nogil
cdef CUresult cuGraphUpload(CUgraphExec hGraph, CUstream hStream) noexcept nogil
cdef CUresult cuGraphExecKernelNodeSetParams(
    CUgraphExec hGraphExec, CUgraphNode hNode,
    const CUDA_KERNEL_NODE_PARAMS* nodeParams) noexcept nogil
cdef CUresult cuGraphExecUpdate(
    CUgraphExec hGraphExec, CUgraph hGraph, CUgraphNode* hErrorNode_out,
    CUgraphExecUpdateResult* updateResult_out) noexcept nogil
cdef CUresult cuFuncGetModule(CUmodule* hmod, CUfunction hfunc) noexcept nogil
cdef CUresult cuEventCreate(CUevent* phEvent, unsigned int Flags) noexcept nogil
cdef CUresult cuIpcGetEventHandle(CUipcEventHandle* pHandle, CUevent event) noexcept nogil
cdef CUresult cuIpcOpenEventHandle(CUevent* phEvent, CUipcEventHandle handle) noexcept nogil
cdef CUresult cuEventRecord(CUevent hEvent, CUstream hStream) noexcept nogil
cdef CUresult cuEventQuery(CUevent hEvent) noexcept nogil
cdef CUresult cuEventSynchronize(CUevent hEvent) noexcept nogil
cdef CUresult cuEventElapsedTime(float* pMilliseconds, CUevent hStart, CUevent hEnd) noexcept nogil
cdef CUresult cuEventDestroy(CUevent hEvent) noexcept nogil
cdef CUresult cuMemGetInfo(size_t* free, size_t* total) noexcept nogil
cdef CUresult cuMemAlloc(CUdeviceptr* dptr, size_t bytesize) noexcept nogil
cdef CUresult cuMemFree(CUdeviceptr dptr) noexcept nogil
cdef CUresult cuMemHostAlloc(void** pp, size_t bytesize, unsigned int Flags) noexcept nogil
cdef CUresult cuMemHostRegister(void* p, size_t bytesize, unsigned int Flags) noexcept nogil
cdef CUresult cuMemHostUnregister(void* p) noexcept nogil
cdef CUresult cuMemAllocManaged(
    CUdeviceptr* dptr, size_t bytesize, unsigned int flags) noexcept nogil
cdef CUresult cuMemGetAddressRange(
    CUdeviceptr* pbase, size_t* psize, CUdeviceptr dptr) noexcept nogil
cdef CUresult cuMemFreeHost(void* p) noexcept nogil
cdef CUresult cuMemcpyHtoDAsync(
    CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount, CUstream hStream) noexcept nogil
cdef CUresult cuMemcpyDtoHAsync(
    void* dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream) noexcept nogil
cdef CUresult cuMemcpyDtoDAsync(
    CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount,
    CUstream hStream) noexcept nogil
cdef CUresult cuMemcpyPeerAsync(
    CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext,
    size_t ByteCount, CUstream hStream) noexcept nogil
cdef CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* pCopy, CUstream hStream) noexcept nogil
cdef CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D* pCopy, CUstream hStream) noexcept nogil
cdef CUresult cuMemsetD8Async(
    CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream) noexcept nogil
cdef CUresult cuMemsetD16Async(
    CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream) noexcept nogil
cdef CUresult cuMemsetD32Async(
    CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream) noexcept nogil
cdef CUresult cuPointerGetAttribute(
    void* data, CUpointer_attribute attribute, CUdeviceptr ptr) noexcept nogil
cdef CUresult cuPointerGetAttributes(
    unsigned int numAttributes, CUpointer_attribute* attributes, void** data,
    CUdeviceptr ptr) noexcept nogil
cdef CUresult cuDeviceCanAccessPeer(
    int* canAccessPeer, CUdevice dev, CUdevice peerDev) noexcept nogil
cdef CUresult cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags) noexcept nogil
cdef CUresult cuCtxDisablePeerAccess(CUcontext peerContext) noexcept nogil
cdef CUresult cuModuleLoadDataEx(
    CUmodule* module, const void* image, unsigned int numOptions, CUjit_option* options,
    void** optionValues) noexcept nogil
cdef CUresult cuLinkCreate(
    unsigned int numOptions, CUjit_option* options, void** optionValues,
    CUlinkState* stateOut) noexcept nogil
cdef CUresult cuLinkAddData(
    CUlinkState state, CUjitInputType type, void* data, size_t size, const char* name,
    unsigned int numOptions, CUjit_option* options, void** optionValues) noexcept nogil
cdef CUresult cuLinkComplete(CUlinkState state, void** cubinOut, size_t* sizeOut) noexcept nogil
cdef CUresult cuLinkDestroy(CUlinkState state) noexcept nogil
cdef CUresult cuModuleUnload(CUmodule hmod) noexcept nogil
cdef CUresult cuModuleGetFunction(CUfunction* hfunc, CUmodule hmod, const char* name) noexcept nogil
cdef CUresult cuModuleGetGlobal(
    CUdeviceptr* dptr, size_t* bytes, CUmodule hmod, const char* name) noexcept nogil
cdef CUresult cuFuncGetAttribute(
    int* pi, CUfunction_attribute attrib, CUfunction hfunc) noexcept nogil
cdef CUresult cuFuncSetAttribute(
    CUfunction hfunc, CUfunction_attribute attrib, int value) noexcept nogil
cdef CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(
    int* numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize) noexcept nogil
cdef CUresult cuOccupancyMaxPotentialBlockSize(
    int* minGridSize, int* blockSize, CUfunction func,
    CUoccupancyB2DSize blockSizeToDynamicSMemSize, size_t dynamicSMemSize,
    int blockSizeLimit) noexcept nogil
cdef CUresult cuArray3DCreate(
    CUarray* pHandle, const CUDA_ARRAY3D_DESCRIPTOR* pAllocateArray) noexcept nogil
cdef CUresult cuArrayDestroy(CUarray hArray) noexcept nogil
cdef CUresult cuTexObjectCreate(
    CUtexObject* pTexObject, const CUDA_RESOURCE_DESC* pResDesc,
    const CUDA_TEXTURE_DESC* pTexDesc, const CUDA_RESOURCE_VIEW_DESC* pResViewDesc) noexcept nogil
cdef CUresult cuTexObjectDestroy(CUtexObject texObject) noexcept nogil
cdef CUresult cuSurfObjectCreate(
    CUsurfObject* pSurfObject, const CUDA_RESOURCE_DESC* pResDesc) noexcept nogil
cdef CUresult cuSurfObjectDestroy(CUsurfObject surfObject) noexcept nogil
cdef CUresult cuTensorMapEncodeTiled(
    CUtensorMap* tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank,
    void* globalAddress, const cuuint64_t* globalDim, const cuuint64_t* globalStrides,
    const cuuint32_t* boxDim, const cuuint32_t* elementStrides, CUtensorMapInterleave interleave,
    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion,
    CUtensorMapFloatOOBfill oobFill) noexcept nogil
cdef CUresult cuModuleGetTexRef(CUtexref* pTexRef, CUmodule hmod, const char* name) noexcept nogil
cdef CUresult cuModuleGetSurfRef(
    CUsurfref* pSurfRef, CUmodule hmod, const char* name) noexcept nogil
cdef CUresult cuTexRefSetArray(CUtexref hTexRef, CUarray hArray, unsigned int Flags) noexcept nogil
cdef CUresult cuTexRefSetAddress(
    size_t* ByteOffset, CUtexref hTexRef, CUdeviceptr dptr, size_t bytes) noexcept nogil
cdef CUresult cuTexRefSetAddress2D(
    CUtexref hTexRef, const CUDA_ARRAY_DESCRIPTOR* desc, CUdeviceptr dptr,
    size_t Pitch) noexcept nogil
cdef CUresult cuTexRefSetFormat(
    CUtexref hTexRef, CUarray_format fmt, int NumPackedComponents) noexcept nogil
cdef CUresult cuTexRefSetAddressMode(CUtexref hTexRef, int dim, CUaddress_mode am) noexcept nogil
cdef CUresult cuTexRefSetFilterMode(CUtexref hTexRef, CUfilter_mode fm) noexcept nogil
cdef CUresult cuTexRefSetFlags(CUtexref hTexRef, unsigned int Flags) noexcept nogil
cdef CUresult cuTexRefSetBorderColor(CUtexref hTexRef, float* pBorderColor) noexcept nogil
cdef CUresult cuSurfRefSetArray(
    CUsurfref hSurfRef, CUarray hArray, unsigned int Flags) noexcept nogil
cdef CUresult cuGraphInstantiateWithFlags(
    CUgraphExec* phGraphExec, CUgraph hGraph, unsigned long long flags) noexcept nogil
cdef CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* poolProps) noexcept nogil
cdef CUresult cuMemPoolSetAttribute(
    CUmemoryPool pool, CUmemPool_attribute attr, void* value) noexcept nogil
cdef CUresult cuMemPoolGetAttribute(
    CUmemoryPool pool, CUmemPool_attribute attr, void* value) noexcept nogil
cdef CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep) noexcept nogil
cdef CUresult cuMemPoolSetAccess(
    CUmemoryPool pool, const CUmemAccessDesc* map, size_t count) noexcept nogil
cdef CUresult cuMemAllocFromPoolAsync(
    CUdeviceptr* dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream) noexcept nogil
cdef CUresult cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream) noexcept nogil
cdef CUresult cuMemPrefetchAsync(
    CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream) noexcept nogil
cdef CUresult cuMemAdvise(
    CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device) noexcept nogil
cdef CUresult cuIpcGetMemHandle(CUipcMemHandle* pHandle, CUdeviceptr dptr) noexcept nogil
cdef CUresult cuIpcOpenMemHandle(
    CUdeviceptr* pdptr, CUipcMemHandle handle, unsigned int Flags) noexcept nogil
cdef CUresult cuIpcCloseMemHandle(CUdeviceptr dptr) noexcept nogil
cdef CUresult cuModuleGetFunctionCount(unsigned int* count, CUmodule hmod) noexcept nogil
cdef CUresult cuModuleEnumerateFunctions(
    CUfunction* functions, unsigned int numFunctions, CUmodule mod) noexcept nogil
cdef CUresult cuFuncGetName(const char** name, CUfunction hfunc) noexcept nogil
cdef CUresult cuFuncGetParamInfo(
    CUfunction func, size_t paramIndex, size_t* paramOffset, size_t* paramSize) noexcept nogil
cdef CUresult cuLaunchKernelEx(
    const CUlaunchConfig* config, CUfunction f, void** kernelParams, void** extra) noexcept nogil
