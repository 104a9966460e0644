// What cases of a GPU's suites run. A build without CUDA names these cases, too;
// run there they are kNotFound, as UseGpu is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/harness/figure.h"
#include "bench/harness/workload.h"
#include "strata/status.h"

namespace strata::bench {

// Suite "table": a map of room for `rows`, filled up to `load`.
struct MapShape {
  uint32_t dim;
  uint64_t rows;
  double load;
};
Result<std::vector<Figure>> RunMap(const MapShape& shape);
// From nothing to `rows` rows.
Result<std::vector<Figure>> RunMapGrowth(uint32_t dim, uint64_t rows);

// Suite "tiered".
Result<std::vector<Figure>> RunGpuTiers(Distribution distribution);

// Suite "embedding". Pooled lookups of rows of `dim` elements.
Result<std::vector<Figure>> RunPooled(uint32_t dim);
Result<std::vector<Figure>> RunCombine();
Result<std::vector<Figure>> RunTraining();
// Updates of 10 x 1 M rows of `dim` elements (at most 128) in 16 bits, beside those in 32.
Result<std::vector<Figure>> RunNarrowRows(uint32_t dim);
// Steps of four sizes, as launches and as CUDA graphs.
Result<std::vector<Figure>> RunAsGraphs();

// Suite "ctr": steps of a click model whose rows are on the GPU, 26 slots of 1 M rows.
struct CtrCase {
  const char* model;  // "dlrm", "deepfm", "dcn_v2"
  uint32_t dim;
  uint32_t batch;
  const char* optimizer;   // of the rows
  double torch = 0;        // PyTorch's M samples/s, recorded; 0: none
  bool bf16_rows = false;  // and their states

  std::string Name() const;
};
Result<std::vector<Figure>> RunCtr(const CtrCase& of);

// Suite "tree-blocks", over `count` numbers.
Result<std::vector<Figure>> RunReduce(size_t count);
Result<std::vector<Figure>> RunPrefixSum(size_t count);
Result<std::vector<Figure>> RunSort(size_t count);
Result<std::vector<Figure>> RunSmallSorts();

}  // namespace strata::bench
