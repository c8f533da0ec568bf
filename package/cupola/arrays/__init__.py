# cupola/arrays/__init__.py - algorithms on arrays, one module a family.
"""NumPy's functions on arrays of a device: scans, sorts, searches, indexing, joins."""
