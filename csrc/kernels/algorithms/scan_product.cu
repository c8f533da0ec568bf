// csrc/kernels/algorithms/scan_product.cu - scans that give products.
#include "scan.cuh"

using namespace cupola::algorithms;

CUPOLA_PRODUCTS(CUPOLA_SCANS)
