// A model of one's own on a GPU, which trains tables of a store where they lie: an EmbeddingGroup
// makes vectors of the rows, a kernel of the model's turns them into gradients, and the group
// updates the rows, all on one stream. The model multiplies the vectors of a user and an item; what
// it is to learn is whether both numbers are even or odd together.
//
// Prints the mean loss of the first and of the last batch, and ends with 0; with 77 where there is
// no GPU, with 1 when anything fails or nothing was learned.
#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "strata/gpu/cuda_status.cuh"
#include "strata/gpu/embedding_group.h"
#include "strata/gpu/gpu_store.h"
#include "strata/hash.h"
#include "strata/status.h"

namespace {

using strata::FromCuda;
using strata::Key;
using strata::Result;
using strata::Status;

constexpr uint32_t kDim = 16;
constexpr uint32_t kBatch = 512;
constexpr uint64_t kUsers = 200;
constexpr uint64_t kItems = 100;
constexpr uint64_t kSteps = 200;
constexpr uint32_t kThreads = 128;

// A thread a sample. Vectors in, their gradients out.
__global__ void Model(const float* users, const float* items, const float* labels,
                      float* user_gradients, float* item_gradients, float* losses) {
  const uint32_t sample = blockIdx.x * blockDim.x + threadIdx.x;
  if (sample >= kBatch) return;
  const float* user = users + sample * kDim;
  const float* item = items + sample * kDim;
  float product = 0;
  for (uint32_t e = 0; e < kDim; ++e) product += user[e] * item[e];
  const float error = product - labels[sample];
  losses[sample] = error * error;
  for (uint32_t e = 0; e < kDim; ++e) {
    user_gradients[sample * kDim + e] = 2 * error * item[e];
    item_gradients[sample * kDim + e] = 2 * error * user[e];
  }
}

// Memory of the GPU for `count` of T, until the program ends.
template <typename T>
Result<T*> OnGpu(size_t count) {
  T* memory = nullptr;
  STRATA_TRY(FromCuda(cudaMalloc(&memory, count * sizeof(T)), "memory"));
  return memory;
}

template <typename T>
Status Copy(T* to, const T* from, size_t count, cudaStream_t stream) {
  return FromCuda(cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDefault, stream),
                  "a copy");
}

strata::TableSpec Spec(const std::string& name) {
  strata::TableSpec spec;
  spec.name = name;
  spec.dim = kDim;
  spec.optimizer.kind = strata::OptimizerKind::kAdaGrad;
  spec.optimizer.learning_rate = 0.1F;
  spec.initializer = {.kind = strata::InitializerKind::kUniform, .scale = 0.3F};
  return spec;
}

// The keys of a batch, users first, and what the model should say.
void Draw(uint64_t step, std::vector<Key>* keys, std::vector<float>* labels) {
  for (uint32_t i = 0; i < kBatch; ++i) {
    const uint64_t random = strata::Mix64(step * kBatch + i);
    const Key user = random % kUsers;
    const Key item = (random >> 32) % kItems;
    (*keys)[i] = user;
    (*keys)[kBatch + i] = item;
    (*labels)[i] = (user + item) % 2 == 0 ? 1.0F : -1.0F;
  }
}

struct Losses {
  float first = 0;
  float last = 0;
};

Result<Losses> Train() {
  cudaStream_t stream = nullptr;
  STRATA_TRY(FromCuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream"));
  const strata::Exec exec{.device = strata::DeviceKind::kCuda, .ordinal = 0, .stream = stream};

  // host_memory_bytes_max: what the GPU has no room for goes there, and comes up as it is used.
  STRATA_ASSIGN(const auto store,
                strata::MakeGpuStore({.device = exec.ordinal,
                                      .memory_bytes = size_t{256} << 20,
                                      .host_memory_bytes_max = uint64_t{1} << 30}));
  const std::array<std::string, 2> names = {"users", "items"};
  for (const std::string& name : names) STRATA_TRY(store->CreateTable(Spec(name)));
  STRATA_ASSIGN(const auto group, strata::EmbeddingGroup::Open(*store, names, exec));

  STRATA_ASSIGN(Key* const gpu_keys, OnGpu<Key>(2 * kBatch));
  STRATA_ASSIGN(float* const gpu_labels, OnGpu<float>(kBatch));
  STRATA_ASSIGN(float* const losses, OnGpu<float>(kBatch));
  STRATA_ASSIGN(float* const vectors, OnGpu<float>(2 * kBatch * kDim));
  STRATA_ASSIGN(float* const gradients, OnGpu<float>(2 * kBatch * kDim));
  float* const item_vectors = vectors + kBatch * kDim;
  float* const item_gradients = gradients + kBatch * kDim;

  // A bag a sample of each table, of one key each: no offsets.
  const std::array<strata::EmbeddingBags, 2> bags = {
      strata::EmbeddingBags{.keys = kBatch, .bags = kBatch, .out = vectors, .stride = kDim},
      strata::EmbeddingBags{.keys = kBatch, .bags = kBatch, .out = item_vectors, .stride = kDim}};
  const strata::BagBatch batch{.keys = gpu_keys, .tables = bags};
  const std::array<const void*, 2> by_table = {gradients, item_gradients};

  std::vector<Key> keys(2 * kBatch);
  std::vector<float> labels(kBatch);
  std::vector<float> found(kBatch);
  Losses mean;
  for (uint64_t step = 1; step <= kSteps; ++step) {
    Draw(step, &keys, &labels);
    STRATA_TRY(Copy(gpu_keys, keys.data(), keys.size(), stream));
    STRATA_TRY(Copy(gpu_labels, labels.data(), labels.size(), stream));
    STRATA_TRY(group->Forward(batch));
    Model<<<(kBatch + kThreads - 1) / kThreads, kThreads, 0, stream>>>(
        vectors, item_vectors, gpu_labels, gradients, item_gradients, losses);
    STRATA_TRY(FromCuda(cudaGetLastError(), "Model"));
    STRATA_TRY(group->Backward(by_table, step));
    if (step != 1 && step != kSteps) continue;
    STRATA_TRY(Copy(found.data(), losses, found.size(), stream));
    STRATA_TRY(FromCuda(cudaStreamSynchronize(stream), "a step"));
    (step == 1 ? mean.first : mean.last) =
        std::accumulate(found.begin(), found.end(), 0.0F) / kBatch;
  }
  return mean;  // the group waits for the stream before it goes
}

}  // namespace

int main() {
  if (const Status gpu = strata::CheckGpu(0); !gpu.ok()) {
    std::fprintf(stderr, "own-model: %s\n", gpu.ToString().c_str());
    return 77;
  }
  const Result<Losses> losses = Train();
  if (!losses.ok()) {
    std::fprintf(stderr, "own-model: %s\n", losses.status().ToString().c_str());
    return 1;
  }
  std::printf("own-model: mean loss %.3f at step 1, %.3f at step %d\n", losses->first, losses->last,
              static_cast<int>(kSteps));
  return losses->last < losses->first / 10 ? 0 : 1;
}
