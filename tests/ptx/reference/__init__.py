"""A reference for each semantics of the table, in Python integers and exact fractions.

A reference takes (modifiers, type, second type, *source values) and returns the values of the
destinations, as a tuple of integers; None where any value is correct. Values are bit patterns.
"""

from .. import floats as fl
from . import approximate, compare, convert, integer, narrow, real
from .bound import Near, as_double
from .compare import lowered
from .core import FUNCTIONS, size

CHAPTERS = (integer, real, approximate, compare, convert, narrow)  # these modules fill FUNCTIONS
__all__ = ["CHAPTERS", "FUNCTIONS", "Near", "as_double", "fl", "lowered", "size"]
