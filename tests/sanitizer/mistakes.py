"""Makes a mistake of overflow.cpp; run by test_sanitizers.py alone."""

import ctypes
import os


def test_mistake():
    library, function, argument = os.environ["CUPOLA_TEST_MISTAKE"].split(",")
    getattr(ctypes.CDLL(library), function)(int(argument))
