# cupola/pycuda/__init__.py - PyCUDA's public interface over cupola, for programs as they are.
"""PyCUDA's modules by their names: ``cupola.pycuda.driver`` has what ``pycuda.driver`` has.

``python -m cupola run --pycuda PROGRAM.py`` makes ``import pycuda`` find this package.
"""

VERSION = (2026, 1)  # the version of PyCUDA whose interface this is
VERSION_STATUS = ""
VERSION_TEXT = ".".join(map(str, VERSION)) + VERSION_STATUS
