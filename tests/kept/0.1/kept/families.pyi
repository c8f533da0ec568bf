from cupola.tuning.family import Family as _Family

scale: _Family
"""The family kept.scale."""
