# cupola/pycuda/autoprimaryctx.py - takes the primary context when it is imported.
"""``context`` is on top of the stack from the import to the end of the program."""

import atexit

import cupola.pycuda.driver as cuda
from cupola.pycuda.tools import clear_context_caches, make_default_context

cuda.init()


def _push_primary_context(device):
    context = device.retain_primary_context()
    context.push()
    return context


context = make_default_context(_push_primary_context)
device = context.get_device()


def _finish():
    global context
    context.pop()
    context = None
    clear_context_caches()


atexit.register(_finish)
