"""Tests of the PTX language: each form of the table, errors, control flow, faults."""
