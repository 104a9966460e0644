// A kernel of one's own over a hash map in a GPU's memory. It takes the map by value, as a MapRef,
// finds rows by key, and computes with them where they lie.
//
// Prints "own-kernel: 3000 keys scored, 1000 of them have no row" and ends with 0; with 77 where
// there is no GPU, with 1 when anything fails or a score is not what the host computes.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "strata/gpu/cuda_status.cuh"
#include "strata/gpu/find_place.cuh"
#include "strata/gpu/gpu_map.h"
#include "strata/gpu/gpu_store.h"
#include "strata/status.h"

namespace {

using strata::FromCuda;
using strata::MapRef;
using strata::Result;
using strata::Status;

constexpr uint32_t kDim = 8;
constexpr uint64_t kRows = 2000;
constexpr uint32_t kThreads = 256;
constexpr uint64_t kKeys = 3000;  // the last 1000 have no row

// scores[i]: the product of `query` and the row of keys[i]; -1 where there is none. A thread a key.
// The map's rows are fp32 (MapRef::IsNarrow tells), and nothing changes the map meanwhile.
__global__ void ScoreRows(MapRef map, const uint64_t* keys, uint64_t count, const float* query,
                          float* scores) {
  const uint64_t i = uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float score = -1;
  const uint64_t place = strata::FindPlace(map, keys[i]);
  if (place != strata::kNowhere) {
    const float* row = map.RowOf(place);
    score = 0;
    for (uint32_t e = 0; e < map.dim; ++e) score += query[e] * row[e];
  }
  scores[i] = score;
}

uint64_t KeyOf(uint64_t i) { return i * 0x9e3779b97f4a7c15ULL; }
float ElementOf(uint64_t i, uint32_t e) { return static_cast<float>(i % 100 + e); }

// Memory of the GPU, with what `host` holds.
template <typename T>
Result<T*> ToGpu(const std::vector<T>& host) {
  T* memory = nullptr;
  const size_t bytes = host.size() * sizeof(T);
  STRATA_TRY(FromCuda(cudaMalloc(&memory, bytes), "memory"));
  STRATA_TRY(FromCuda(cudaMemcpy(memory, host.data(), bytes, cudaMemcpyHostToDevice), "a copy"));
  return memory;
}

// How many of the scores are -1. kFailed when one is wrong.
Result<uint64_t> CountMissing(const std::vector<float>& scores) {
  uint64_t missing = 0;
  for (uint64_t i = 0; i < kKeys; ++i) {
    float expected = i < kRows ? 0 : -1;
    for (uint32_t e = 0; i < kRows && e < kDim; ++e) expected += ElementOf(i, e);
    if (scores[i] != expected) {
      return strata::Failed("score " + std::to_string(i) + ": expected " +
                            std::to_string(expected) + ", found " + std::to_string(scores[i]));
    }
    missing += scores[i] == -1 ? 1 : 0;
  }
  return missing;
}

Result<uint64_t> Run() {
  cudaStream_t stream = nullptr;
  STRATA_TRY(FromCuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream"));
  const strata::Exec exec{.device = strata::DeviceKind::kCuda, .ordinal = 0, .stream = stream};
  STRATA_ASSIGN(const auto map,
                strata::GpuMap::Make(
                    exec, {.dim = kDim, .rows_max = 1'000'000, .memory_bytes = size_t{256} << 20}));

  std::vector<uint64_t> keys;
  std::vector<float> rows;
  for (uint64_t i = 0; i < kKeys; ++i) keys.push_back(KeyOf(i));
  for (uint64_t i = 0; i < kRows; ++i) {
    for (uint32_t e = 0; e < kDim; ++e) rows.push_back(ElementOf(i, e));
  }
  STRATA_ASSIGN(uint64_t* const gpu_keys, ToGpu(keys));
  STRATA_ASSIGN(float* const gpu_rows, ToGpu(rows));
  STRATA_ASSIGN(float* const query, ToGpu(std::vector<float>(kDim, 1.0F)));
  STRATA_ASSIGN(float* const scores, ToGpu(std::vector<float>(kKeys)));
  STRATA_ASSIGN(uint32_t* const positions, ToGpu(std::vector<uint32_t>(kRows)));
  STRATA_ASSIGN(uint32_t* const missed, ToGpu(std::vector<uint32_t>(1)));

  // Room first, then the rows: keys of one call are distinct.
  STRATA_TRY(map->MakeRoom(kRows));
  strata::InsertOrAssign(exec, map->ref(), {gpu_keys, kRows}, gpu_rows, nullptr, {},
                         {positions, missed});

  // ref() holds until the next MakeRoom, so it is asked for anew at each launch.
  ScoreRows<<<(kKeys + kThreads - 1) / kThreads, kThreads, 0, stream>>>(map->ref(), gpu_keys, kKeys,
                                                                        query, scores);
  STRATA_TRY(FromCuda(cudaGetLastError(), "ScoreRows"));
  STRATA_TRY(FromCuda(cudaStreamSynchronize(stream), "ScoreRows"));
  std::vector<float> found(kKeys);
  STRATA_TRY(FromCuda(
      cudaMemcpy(found.data(), scores, kKeys * sizeof(float), cudaMemcpyDeviceToHost), "a copy"));
  for (void* memory :
       {static_cast<void*>(gpu_keys), static_cast<void*>(gpu_rows), static_cast<void*>(query),
        static_cast<void*>(scores), static_cast<void*>(positions), static_cast<void*>(missed)}) {
    STRATA_TRY(FromCuda(cudaFree(memory), "freeing memory"));
  }
  return CountMissing(found);
}

}  // namespace

int main() {
  if (const Status gpu = strata::CheckGpu(0); !gpu.ok()) {
    std::fprintf(stderr, "own-kernel: %s\n", gpu.ToString().c_str());
    return 77;
  }
  const Result<uint64_t> missing = Run();
  if (!missing.ok()) {
    std::fprintf(stderr, "own-kernel: %s\n", missing.status().ToString().c_str());
    return 1;
  }
  std::printf("own-kernel: %d keys scored, %d of them have no row\n", static_cast<int>(kKeys),
              static_cast<int>(*missing));
  return 0;
}
