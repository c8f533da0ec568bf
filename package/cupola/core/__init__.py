# cupola/core/__init__.py - the internal modules of the launcher: libraries, images, manifests.
"""How cupola finds its library, loads images, and describes kernels and devices."""
