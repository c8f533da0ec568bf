# package/cupola/build/__init__.py - build kernels, libraries and their manifest; nothing is
# imported here, because cupola's own setup.py loads this folder before cupola exists.
"""Build support: CUDA toolkits, device images with their manifests, native libraries.

cupola is built with these modules, and a package that ships kernels of its own uses the same
ones.  They need the standard library alone, save ``manifest``, which reads debug information
through pyelftools (a build requirement).
"""
