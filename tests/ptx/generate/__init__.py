"""Random PTX programs without undefined behaviour, the same for the same seed.

``forms`` says which rows of the instruction table they are made of, ``tree`` what a program is,
``registers`` what it computes on, ``memory`` and ``warp`` make statements, ``program`` whole
kernels and modules.
"""
