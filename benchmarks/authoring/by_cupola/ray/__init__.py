# benchmarks/authoring/by_cupola/ray/__init__.py
from ray import ops

distance = ops.distance
