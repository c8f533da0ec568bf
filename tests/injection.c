/* tests/injection.c - what a profiler injects for NVTX: prints each range to a file. */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>

static FILE* file;

static int NVTX_API push(const char* message) {
    fprintf(file, "push %s\n", message);
    return 0;
}

static int NVTX_API pop(void) {
    fprintf(file, "pop\n");
    fflush(file);
    return 0;
}

int NVTX_API InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get) {
    const NvtxExportTableCallbacks* callbacks = get(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table = NULL;
    unsigned size = 0;
    file = fopen(getenv("RANGES"), "w");
    if (!file || !callbacks) return 0;
    if (!callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size)) return 0;
    *table[NVTX_CBID_CORE_RangePushA] = (NvtxFunctionPointer)push;
    *table[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer)pop;
    return 1;
}
