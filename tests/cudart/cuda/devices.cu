// tests/cudart/cuda/devices.cu - several devices: the current one of each thread, what belongs to
// which, access of peers, resets. With one device it checks less.
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "check.cuh"

__device__ int variable = 5;

__global__ void add_variable(int* to, const int* from) { *to = *from + variable; }

static int current() {
    int device = -1;
    CUDA(cudaGetDevice(&device));
    return device;
}

static int on_device(int value) {
    int *from = nullptr, *to = nullptr, found = 0;
    CUDA(cudaMalloc(&from, sizeof(int)));
    CUDA(cudaMalloc(&to, sizeof(int)));
    CUDA(cudaMemcpy(from, &value, sizeof(int), cudaMemcpyHostToDevice));
    add_variable<<<1, 1>>>(to, from);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpy(&found, to, sizeof(int), cudaMemcpyDeviceToHost));
    CUDA(cudaFree(from));
    CUDA(cudaFree(to));
    return found;
}

// Before the first call that needs a context, a thread's device is the first valid one.
static void valid_devices(int devices) {
    int order[] = {devices - 1, 0};
    CUDA(cudaSetValidDevices(order, devices > 1 ? 2 : 1));
    std::thread([devices] {
        CHECK(current() == devices - 1);
        CHECK(on_device(1) == 6);
        CHECK(current() == devices - 1);
    }).join();
    CUDA(cudaSetValidDevices(nullptr, 0));
}

// Each thread has its own current device, and each device its own variables.
static void threads(int devices) {
    std::vector<std::thread> all;
    for (int device = 0; device < devices; ++device)
        all.emplace_back([device] {
            CUDA(cudaSetDevice(device));
            const int value = 100 * device;
            CUDA(cudaMemcpyToSymbol(variable, &value, sizeof value));
            CHECK(on_device(1) == value + 1);
            CHECK(current() == device);
        });
    for (std::thread& thread : all) thread.join();
    for (int device = 0; device < devices; ++device) {
        CUDA(cudaSetDevice(device));
        CHECK(on_device(2) == 100 * device + 2);
    }
}

static void flags(int devices) {
    const int last = devices - 1;
    CUDA(cudaInitDevice(last, cudaDeviceScheduleBlockingSync, cudaInitDeviceFlagsAreValid));
    CUDA(cudaSetDevice(last));
    unsigned found = 0;
    CUDA(cudaGetDeviceFlags(&found));
    CHECK((found & cudaDeviceScheduleMask) == cudaDeviceScheduleBlockingSync);
    CUDA(cudaSetDeviceFlags(cudaDeviceScheduleAuto));
    CUDA(cudaGetDeviceFlags(&found));
    CHECK((found & cudaDeviceScheduleMask) == cudaDeviceScheduleAuto);
}

static void chosen() {
    cudaDeviceProp wanted{};
    int device = -1;
    CUDA(cudaChooseDevice(&device, &wanted));
    CHECK(device == 0);
    CUDA(cudaGetDeviceProperties(&wanted, 0));
    CUDA(cudaChooseDevice(&device, &wanted));
    CHECK(device == 0);
}

// A stream and an event belong to the device that was current when they were made.
static void owners() {
    cudaStream_t streams[2] = {};
    cudaEvent_t events[2] = {};
    int* values[2] = {};
    const int start = 1;
    for (int device : {0, 1}) {
        CUDA(cudaSetDevice(device));
        CUDA(cudaStreamCreate(&streams[device]));
        CUDA(cudaEventCreate(&events[device]));
        CUDA(cudaMalloc(&values[device], sizeof(int)));
        CUDA(cudaMemcpy(values[device], &start, sizeof(int), cudaMemcpyHostToDevice));
        cudaPointerAttributes found{};
        CUDA(cudaPointerGetAttributes(&found, values[device]));
        CHECK(found.device == device && found.type == cudaMemoryTypeDevice);
    }
    for (int device : {0, 1}) {
        int found = -1;
        CUDA(cudaStreamGetDevice(streams[device], &found));
        CHECK(found == device);
    }
    CUDA(cudaSetDevice(0));
    add_variable<<<1, 1, 0, streams[1]>>>(values[0], values[0]);
    CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);
    CHECK(cudaEventRecord(events[1], streams[0]) == cudaErrorInvalidResourceHandle);
    CHECK(cudaGetLastError() == cudaErrorInvalidResourceHandle);
    // Waits between devices are allowed, and so is the destruction of another device's objects.
    CUDA(cudaEventRecord(events[0], streams[0]));
    CUDA(cudaStreamWaitEvent(streams[1], events[0], 0));
    CUDA(cudaStreamSynchronize(streams[1]));
    for (int device : {0, 1}) {
        CUDA(cudaStreamDestroy(streams[device]));
        CUDA(cudaEventDestroy(events[device]));
        CUDA(cudaFree(values[device]));
    }
    CHECK(current() == 0);
}

static void peers() {
    int can = 0;
    CUDA(cudaDeviceCanAccessPeer(&can, 0, 1));
    int supported = 0;
    CUDA(cudaDeviceGetP2PAttribute(&supported, cudaDevP2PAttrAccessSupported, 0, 1));
    CHECK(can == supported);
    CUDA(cudaSetDevice(0));
    CHECK(cudaDeviceEnablePeerAccess(0, 0) == cudaErrorPeerAccessUnsupported);
    if (!can) {
        CHECK(cudaDeviceEnablePeerAccess(1, 0) == cudaErrorPeerAccessUnsupported);
        cudaGetLastError();
        return;
    }
    CHECK(cudaDeviceEnablePeerAccess(1, 1) == cudaErrorInvalidValue);
    CUDA(cudaDeviceEnablePeerAccess(1, 0));
    CHECK(cudaDeviceEnablePeerAccess(1, 0) == cudaErrorPeerAccessAlreadyEnabled);
    cudaGetLastError();
    int *there = nullptr, *here = nullptr, value = 30, found = 0, zero = 0;
    CUDA(cudaSetDevice(1));
    CUDA(cudaMalloc(&there, sizeof(int)));
    CUDA(cudaMemcpy(there, &value, sizeof(int), cudaMemcpyHostToDevice));
    CUDA(cudaSetDevice(0));
    CUDA(cudaMalloc(&here, sizeof(int)));
    CUDA(cudaMemcpyToSymbol(variable, &zero, sizeof zero));
    add_variable<<<1, 1>>>(here, there);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpy(&found, here, sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(found == 30);
    CUDA(cudaMemcpyPeer(here, 0, there, 1, sizeof(int)));
    CUDA(cudaDeviceDisablePeerAccess(1));
    CHECK(cudaDeviceDisablePeerAccess(1) == cudaErrorPeerAccessNotEnabled);
    cudaGetLastError();
    CUDA(cudaFree(here));
    CUDA(cudaFree(there));
}

// A reset ends the context of one device alone.
static void resets() {
    int *kept = nullptr, value = 9, found = 0;
    CUDA(cudaSetDevice(0));
    CUDA(cudaMalloc(&kept, sizeof(int)));
    CUDA(cudaMemcpy(kept, &value, sizeof(int), cudaMemcpyHostToDevice));
    CUDA(cudaSetDevice(1));
    on_device(0);
    CUDA(cudaDeviceReset());
    CHECK(current() == 1);
    CHECK(on_device(1) == 6);  // the variable is as the program was compiled
    CUDA(cudaMemcpy(&found, kept, sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(found == 9);
    CUDA(cudaSetDevice(0));
    CUDA(cudaFree(kept));
}

int main() {
    setenv("CUPOLA_CPU_DEVICES", "3", 0);  // read by the CPU device alone
    int devices = 0;
    CUDA(cudaGetDeviceCount(&devices));
    valid_devices(devices);
    threads(devices);
    flags(devices);
    chosen();
    if (devices > 1) {
        owners();
        peers();
        resets();
    }
    std::puts("ok");
}
