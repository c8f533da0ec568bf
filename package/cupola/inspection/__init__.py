# cupola/inspection/__init__.py - how cupola's objects describe themselves.
"""Descriptions of drivers, devices, kernels and arrays: named tuples, signatures and texts.

cupola.build uses the signatures, also before cupola can be imported: nothing is imported here.
"""
