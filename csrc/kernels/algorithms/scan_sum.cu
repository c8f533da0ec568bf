// csrc/kernels/algorithms/scan_sum.cu - scans that give sums.
#include "scan.cuh"

using namespace cupola::algorithms;

CUPOLA_SUMS(CUPOLA_SCANS)
