#include <vector>

#include "kernels/tree/bins/device_bins.cuh"
#include "kernels/tree/grow/grown_from_device.cuh"
#include "kernels/tree/score/gpu_scores.h"

namespace strata::gpu_tree {
namespace {

constexpr unsigned kThreads = 256;

__global__ void __launch_bounds__(kThreads) AddToAll(double value, uint64_t rows, double* scores) {
  const uint64_t row = uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (row < rows) scores[row] += value;
}

class Scores : public GpuScores {
 public:
  explicit Scores(int device) : device_(device) {}
  ~Scores() override {
    const DeviceScope scope(device_);
    if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
  }

  Status Start(const BinMatrix& bins, std::span<const FeatureShape> shapes, size_t classes) {
    const DeviceScope scope(device_);
    STRATA_TRY(FromCuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream"));
    rows_ = bins.rows();
    STRATA_TRY(bins_.CopyRows(bins, {.begin = 0, .count = rows_}, shapes, stream_));
    STRATA_TRY(scores_.Make(rows_ * classes, "scores on the GPU"));
    STRATA_TRY(FromCuda(
        cudaMemsetAsync(scores_.data(), 0, scores_.size() * sizeof(double), stream_), "scores"));
    return Wait();
  }

  Status Set(std::span<const double> scores) override {
    const DeviceScope scope(device_);
    STRATA_CHECK(scores.size() == scores_.size());
    STRATA_TRY(scores_.Set(scores, stream_));
    return Wait();
  }

  Status Get(std::span<double> scores) const override {
    const DeviceScope scope(device_);
    STRATA_CHECK(scores.size() == scores_.size());
    STRATA_TRY(scores_.Get(scores, stream_));
    return Wait();
  }

  Status AddConstant(size_t k, double value) override {
    const DeviceScope scope(device_);
    if (rows_ == 0) return {};
    AddToAll<<<static_cast<unsigned>((rows_ + kThreads - 1) / kThreads), kThreads, 0, stream_>>>(
        value, rows_, scores_.data() + k * rows_);
    STRATA_TRY(FromCuda(cudaGetLastError(), "adding to the scores"));
    return Wait();
  }

  Status AddTree(size_t k, const GrownTree& tree, std::span<const double> values) override {
    const DeviceScope scope(device_);
    STRATA_CHECK(values.size() == tree.leaves.size());
    STRATA_TRY(values_.Put(values, "values of leaves", stream_));
    const WalkTable table = WalkTableOf(tree, bins_.features());
    STRATA_TRY(nodes_.Put(table.nodes, "nodes", stream_));
    STRATA_TRY(sets_.Put(table.sets, "sets of categories", stream_));
    WalkRows(nodes_.data(), sets_.data(), values_.data(), rows_, scores_.data() + k * rows_,
             stream_);
    STRATA_TRY(FromCuda(cudaGetLastError(), "adding a tree to the scores"));
    return Wait();  // for the table, too, which is read until then
  }

  const double* data() const override { return scores_.data(); }

 private:
  Status Wait() const { return FromCuda(cudaStreamSynchronize(stream_), "scores"); }

  const int device_;
  uint64_t rows_ = 0;
  cudaStream_t stream_ = nullptr;
  DeviceBins bins_;
  DeviceMemory<double> scores_;
  GrowingMemory<double> values_;
  GrowingMemory<WalkNode> nodes_;
  GrowingMemory<uint32_t> sets_;
};

}  // namespace
}  // namespace strata::gpu_tree

namespace strata {

Result<std::unique_ptr<GpuScores>> GpuScores::Open(int device, const BinMatrix& bins,
                                                   std::span<const FeatureShape> shapes,
                                                   size_t classes) {
  STRATA_CHECK(bins.features() > 0);
  STRATA_TRY(CheckDevice(device));
  auto scores = std::make_unique<gpu_tree::Scores>(device);
  STRATA_TRY(scores->Start(bins, shapes, classes));
  return std::unique_ptr<GpuScores>(std::move(scores));
}

}  // namespace strata
