// The suites that only a GPU has.
#include <fmt/format.h>

#include "bench/figure.h"
#include "bench/gpu_runs.h"

namespace strata::bench {

Suite GpuEmbeddingSuite() {
  return {"embedding", "pooled lookups, combining and training steps on a GPU", [](bool) {
            std::vector<Case> cases;
            for (const uint32_t dim : {16U, 64U, 128U}) {
              cases.push_back({fmt::format("pooled dim={}", dim),
                               [dim](const BenchOptions&) { return RunPooled(dim); }});
            }
            cases.push_back({"combine", [](const BenchOptions&) { return RunCombine(); }});
            cases.push_back({"training", [](const BenchOptions&) { return RunTraining(); }});
            cases.push_back({"graph", [](const BenchOptions&) { return RunAsGraphs(); }});
            return cases;
          }};
}

Suite GpuTreeBlocksSuite() {
  return {
      "tree-blocks", "reductions, prefix sums and sorts on a GPU, beside CUB", [](bool) {
        std::vector<Case> cases;
        for (const size_t count : {size_t{1} << 16, size_t{1} << 24}) {
          cases.push_back({fmt::format("reduce {}", count),
                           [count](const BenchOptions&) { return RunReduce(count); }});
          cases.push_back({fmt::format("prefix sum {}", count),
                           [count](const BenchOptions&) { return RunPrefixSum(count); }});
          cases.push_back({fmt::format("sort {}", count),
                           [count](const BenchOptions&) { return RunSort(count); }});
        }
        cases.push_back({"sort in blocks", [](const BenchOptions&) { return RunSmallSorts(); }});
        return cases;
      }};
}

}  // namespace strata::bench
