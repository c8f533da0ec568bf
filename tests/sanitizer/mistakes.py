"""Makes a mistake of overflow.cpp; run by test_sanitizers.py alone."""

import ctypes
import os


def test_mistake():
    library, function, argument = os.environ["CUPOLA_TEST_MISTAKE"].split(",")
    call = getattr(ctypes.CDLL(library), function)
    call.restype = ctypes.c_void_p
    answer = ctypes.c_void_p(call(int(argument)))
    if function == "keep":  # an object that is never freed keeps the address
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(answer))
