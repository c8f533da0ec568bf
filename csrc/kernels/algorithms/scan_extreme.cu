// csrc/kernels/algorithms/scan_extreme.cu - scans that give minima and maxima.
#include "scan.cuh"

using namespace cupola::algorithms;

CUPOLA_EXTREMES(CUPOLA_SCANS)
