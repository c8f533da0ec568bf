# cupola/declare/__init__.py - what packages declare, read before anything is built.
"""Declarations of operations, makers and signatures.

The modules here import the standard library alone: the build uses them before cupola can be
imported.
"""
