// Suites of a GPU whose cases a build without CUDA names, too.
#include <fmt/format.h>

#include "bench/harness/figure.h"
#include "bench/suites/gpu_runs.h"

namespace strata::bench {

Suite GpuTableSuite() {
  return {"table", "the hash map on a GPU beside HierarchicalKV's figures",
          [](bool) {
            std::vector<Case> cases;
            for (const uint32_t dim : {8U, 32U, 64U}) {
              const uint64_t rows = (dim == 64 ? 64ULL : 128ULL) << 20;
              for (const double load : {0.5, 0.75, 1.0}) {
                const MapShape shape{dim, rows, load};
                cases.push_back({fmt::format("dim={} load={:.2f}", dim, load),
                                 [shape](const BenchOptions&) { return RunMap(shape); }});
              }
            }
            for (const uint32_t dim : {8U, 64U}) {
              cases.push_back({fmt::format("growth dim={}", dim), [dim](const BenchOptions&) {
                                 return RunMapGrowth(dim, uint64_t{64} << 20);
                               }});
            }
            return cases;
          },
          /*has_rounds=*/false};
}

Suite GpuTieredSuite() {
  return {"tiered", "a table of which half fits the GPU's memory",
          [](bool) {
            std::vector<Case> cases;
            for (const Distribution distribution : {Distribution::kUniform, Distribution::kZipf}) {
              cases.push_back(
                  {distribution == Distribution::kZipf ? "zipf" : "uniform",
                   [distribution](const BenchOptions&) { return RunGpuTiers(distribution); }});
            }
            return cases;
          },
          /*has_rounds=*/false};
}

Suite GpuEmbeddingSuite() {
  return {"embedding", "pooled lookups, combining and training steps on a GPU",
          [](bool) {
            std::vector<Case> cases;
            for (const uint32_t dim : {16U, 64U, 128U}) {
              cases.push_back({fmt::format("pooled dim={}", dim),
                               [dim](const BenchOptions&) { return RunPooled(dim); }});
            }
            cases.push_back({"combine", [](const BenchOptions&) { return RunCombine(); }});
            cases.push_back({"training", [](const BenchOptions&) { return RunTraining(); }});
            for (const uint32_t dim : {128U, 16U}) {
              cases.push_back({fmt::format("narrow rows dim={}", dim),
                               [dim](const BenchOptions&) { return RunNarrowRows(dim); }});
            }
            cases.push_back({"graph", [](const BenchOptions&) { return RunAsGraphs(); }});
            return cases;
          },
          /*has_rounds=*/false};
}

Suite GpuCtrSuite() {
  return {"ctr", "training steps of click models whose rows are on a GPU",
          [](bool) {
            constexpr CtrCase kCases[] = {
                {"dlrm", 128, 65'536, "sgd", 7.13},        {"dlrm", 128, 65'536, "adagrad", 5.63},
                {"dlrm", 128, 8'192, "sgd", 5.69},         {"deepfm", 16, 65'536, "sgd", 18.5},
                {"deepfm", 16, 65'536, "adagrad", 12.6},   {"deepfm", 16, 8'192, "sgd", 12.9},
                {"dcn_v2", 128, 65'536, "sgd", 3.50},      {"dlrm", 128, 65'536, "sgd", 0, true},
                {"dlrm", 128, 65'536, "adagrad", 0, true}, {"dlrm", 128, 65'536, "adam", 0},
                {"dlrm", 128, 65'536, "adam", 0, true}};
            std::vector<Case> cases;
            for (const CtrCase& of : kCases) {
              cases.push_back({of.Name(), [of](const BenchOptions&) { return RunCtr(of); }});
            }
            return cases;
          },
          /*has_rounds=*/false};
}

std::string CtrCase::Name() const {
  return fmt::format("{} dim={} batch={} {}{}", model, dim, batch, optimizer,
                     bf16_rows ? ", rows and states of bf16" : "");
}

Suite GpuTreeBlocksSuite() {
  return {
      "tree-blocks", "reductions, prefix sums and sorts on a GPU, beside CUB",
      [](bool) {
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
      },
      /*has_rounds=*/false};
}

}  // namespace strata::bench
