// STRATA_HD marks arithmetic on one element that is compiled for the host and, inside .cu files,
// for the device: written once, bit-identical on both (contraction is off on both sides).
#pragma once

#ifdef __CUDACC__
#define STRATA_HD __host__ __device__ inline
#else
#define STRATA_HD inline
#endif
