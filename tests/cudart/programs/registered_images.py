"""Images that nvcc's host code registers: their variables, their parts, their end."""

from ctypes import byref, c_int, c_size_t, c_uint64, c_void_p

from driver_abi import PTX

from cudart.runtime import DEVICE_TO_HOST, HOST_TO_DEVICE, Image, fatbin

HEAD = b".version 6.3\n.target sm_75\n.address_size 64\n"
MANAGED = (
    HEAD
    + b"""
.visible .global .attribute(.managed) .align 4 .u32 counter = 5;
.visible .entry count()
{
    .reg .b32 %r<2>;
    ld.global.u32 %r0, [counter];
    add.u32 %r1, %r0, 1;
    st.global.u32 [counter], %r1;
    ret;
}
\0"""
)
CALLER = (
    HEAD
    + b"""
.extern .func (.reg .b32 %out) twice(.reg .b32 %in);
.extern .global .align 4 .u32 shared_word;
.visible .entry doubles(.param .u64 p)
{
    .reg .b32 %r<4>;
    .reg .b64 %d<2>;
    ld.param.u64 %d0, [p];
    ld.global.u32 %r0, [%d0];
    call.uni (%r1), twice, (%r0);
    ld.global.u32 %r2, [shared_word];
    add.u32 %r3, %r1, %r2;
    st.global.u32 [%d0], %r3;
    ret;
}
\0"""
)
CALLED = (
    HEAD
    + b"""
.visible .global .align 4 .u32 shared_word = 100;
.visible .func (.reg .b32 %out) twice(.reg .b32 %in)
{
    add.u32 %out, %in, %in;
    ret;
}
\0"""
)


def an_image_that_is_unregistered(runtime):
    """Another image stays."""
    image = Image(runtime, fatbin(PTX), ["add1"])
    numbers = runtime.upload([0])
    arguments = [c_uint64(numbers)]
    for add1 in (image.host["add1"], runtime.registered["add1"]):
        runtime.launch(add1, (1, 1, 1), (1, 1, 1), arguments)
    runtime.note("numbers", runtime.ints(numbers, 1))
    image.unregister()
    runtime.launch(runtime.registered["add1"], (1, 1, 1), (1, 1, 1), arguments)
    runtime.note("numbers", runtime.ints(numbers, 1))


def a_kernel_of_an_unregistered_image_crashes(runtime):
    image = Image(runtime, fatbin(PTX), ["add1"])
    numbers = runtime.upload([0])
    image.unregister()
    runtime.launch(image.host["add1"], (1, 1, 1), (1, 1, 1), [c_uint64(numbers)])
    runtime.note("numbers", runtime.ints(numbers, 1))


def a_wrapper_of_another_magic_crashes(runtime):
    image = Image(runtime, fatbin(PTX), ["empty"], magic=0x12345678)
    runtime.launch(image.host["empty"], (1, 1, 1), (1, 1, 1), [])


def variables(runtime):
    image = Image(runtime, fatbin(PTX), (), [("table", 64, 0), ("seven", 4, 1)])
    pointer, size, found = c_void_p(), c_size_t(), c_int()
    for name in ("table", "seven"):
        runtime.cudaGetSymbolAddress(byref(pointer), image.host[name])
        runtime.cudaGetSymbolSize(byref(size), image.host[name])
        runtime.note(name, [bool(pointer.value), size.value])
    runtime.cudaMemcpyFromSymbol(byref(found), image.host["seven"], 4, 0, DEVICE_TO_HOST)
    runtime.note("seven", found.value)
    runtime.cudaMemcpyToSymbol(image.host["table"], byref(c_int(9)), 4, 8, HOST_TO_DEVICE)
    runtime.cudaMemcpyFromSymbol(byref(found), image.host["table"], 4, 8, DEVICE_TO_HOST)
    runtime.note("table", found.value)


def managed_variables(runtime):
    """Host code calls __cudaInitModule before it first uses one."""
    image = Image(runtime, fatbin(MANAGED), ["count"], managed=[("counter", 4)])
    pointer = c_void_p.from_address(image.host["counter"])
    image.initialize()
    runtime.note("set", bool(pointer.value))
    counter = c_int.from_address(pointer.value)
    runtime.note("counter", counter.value)
    runtime.launch(image.host["count"], (1, 1, 1), (1, 1, 1), [])
    runtime.cudaDeviceSynchronize()
    runtime.note("counter", counter.value)
    size, place = c_size_t(), c_void_p()
    runtime.cudaGetSymbolSize(byref(size), pointer)
    runtime.cudaGetSymbolAddress(byref(place), pointer)
    runtime.note("size, the same", [size.value, place.value == pointer.value])


def linked_images(runtime):
    """As with nvcc -rdc=true: the wrapper has no code of its own, but parts to be linked."""
    parts = [fatbin(text, options=b"--compile-only  ") for text in (CALLER, CALLED)]
    image = Image(runtime, fatbin(), ["doubles"], [("shared_word", 4, 0)], linked=parts)
    numbers, size = runtime.upload([4]), c_size_t()
    runtime.launch(image.host["doubles"], (1, 1, 1), (1, 1, 1), [c_uint64(numbers)])
    runtime.note("number", runtime.ints(numbers, 1))
    word = byref(c_int(1000))
    runtime.cudaMemcpyToSymbol(image.host["shared_word"], word, 4, 0, HOST_TO_DEVICE)
    runtime.cudaGetSymbolSize(byref(size), image.host["shared_word"])
    runtime.note("size", size.value)
    runtime.launch(image.host["doubles"], (1, 1, 1), (1, 1, 1), [c_uint64(numbers)])
    runtime.note("number", runtime.ints(numbers, 1))


def parts_that_do_not_fit(runtime):
    parts = [fatbin(CALLER, options=b"--compile-only  ")]
    image = Image(runtime, fatbin(), ["doubles"], linked=parts)
    runtime.launch(image.host["doubles"], (1, 1, 1), (1, 1, 1), [c_uint64(0)])
    runtime.cudaGetLastError()
