# cupola/tuning/__init__.py - variants of a kernel: declared, measured once, chosen at each launch.
"""Families of variants, and their tuning."""
