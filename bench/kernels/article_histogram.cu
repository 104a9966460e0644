#include <algorithm>
#include <numeric>

#include "bench/kernels/article_histogram.cuh"
#include "strata/status.h"

namespace strata::bench {
namespace {

constexpr unsigned kSharedFloats = 12288;  // 48 KB
constexpr unsigned kSliceFloats = 1024;    // of a warp, at most
constexpr unsigned kAtOnce = 4;            // rows whose loads a thread has under way
constexpr unsigned kBlocksOfProcessor = 8;

// A block's sums are sets, each of some bins. A bin has copies side by side, one a group of lanes,
// so that these have banks of their own: [set][bin][copy][2 * feature + is_weight].
template <unsigned kBinsOf, ArticleKernel kKernel>
struct Layout {
  static constexpr bool kAtomic = kKernel == ArticleKernel::kAtomics;
  static constexpr unsigned kBins = kBinsOf;
  static constexpr unsigned kFeatures = kBins > 16 ? 4 : 8;  // of a word
  static constexpr unsigned kBits = 32 / kFeatures;
  static constexpr unsigned kGroup = 2 * kFeatures;  // lanes
  static constexpr unsigned kGroups = 32 / kGroup;   // of a warp
  static constexpr unsigned kThreads = kAtomic ? 768 : 384;
  static constexpr unsigned kSetBins = kAtomic ? kBins : std::min(kBins, kSliceFloats / kGroup);
  static constexpr unsigned kSetsOfBins = kBins / kSetBins;  // that make up all bins
  static constexpr unsigned kAllCopies = kSharedFloats / (kBins * kGroup);
  static constexpr unsigned kCopies = kAtomic
                                          ? std::gcd(kGroups, kAllCopies)
                                          : std::min(kGroups, kSliceFloats / (kSetBins * kGroup));
  static constexpr unsigned kSets =
      kAtomic ? std::min(kThreads / kGroup, kAllCopies) / kCopies : kThreads / 32;
  static constexpr unsigned kRowsOfStep = kThreads / kSetsOfBins;
  static constexpr unsigned kFloats = kSets * kSetBins * kCopies * kGroup;
  static_assert(kFloats <= kSharedFloats);

  static __device__ unsigned At(unsigned set, unsigned bin, unsigned copy) {
    return ((set * kSetBins + bin % kSetBins) * kCopies + copy) * kGroup;
  }
};

struct Row {
  uint32_t word = 0;
  float gradient = 0;
  float weight = 0;
};

// An Adder says which sums in shared memory a thread of a block adds to.
template <typename Of>
class Adder {
 public:
  __device__ explicit Adder(float* shared) : shared_(shared) {
    const unsigned group = threadIdx.x / Of::kGroup;
    if constexpr (Of::kAtomic) {
      set_ = group / Of::kCopies % Of::kSets;
    } else {
      set_ = threadIdx.x / 32;
    }
    copy_ = group % Of::kCopies;
    pass_ = group % Of::kGroups / Of::kCopies;
  }

  // All lanes of a warp call.
  __device__ void Add(const Row& row) const {
    const unsigned is_weight = ~threadIdx.x & 1;
    const float first = is_weight != 0 ? row.weight : row.gradient;
    const float second = is_weight != 0 ? row.gradient : row.weight;
#pragma unroll
    for (unsigned i = 0; i < Of::kFeatures; ++i) {
      const unsigned f = (threadIdx.x / 2 + i) % Of::kFeatures;
      const unsigned bin = row.word >> (Of::kBits * f) & (Of::kBins - 1);
      const bool is_own = Of::kSetsOfBins == 1 || bin / Of::kSetBins == set_ % Of::kSetsOfBins;
      float* const sums = shared_ + Of::At(set_, bin, copy_) + 2 * f;
      AddTo(sums + is_weight, first, is_own);
      AddTo(sums + (is_weight ^ 1), second, is_own);
    }
  }

 private:
  __device__ void AddTo(float* sum, float value, bool is_own) const {
    if constexpr (Of::kAtomic) {
      atomicAdd(sum, value);
    } else {
      constexpr unsigned kPasses = Of::kGroups / Of::kCopies;
#pragma unroll
      for (unsigned pass = 0; pass < kPasses; ++pass) {
        if (is_own && pass == pass_) *sum += value;
        __syncwarp();
      }
    }
  }

  float* shared_;
  unsigned set_;
  unsigned copy_;
  unsigned pass_;
};

// A leaf's rows are divided among so many blocks for each word.
template <typename Of>
__global__ void __launch_bounds__(Of::kThreads)
    AddRows(LevelRows level, unsigned parts, float* sums) {
  const unsigned part = blockIdx.x % parts;
  const uint32_t word = blockIdx.x / parts % level.words_of_row;
  const uint32_t leaf = blockIdx.x / parts / level.words_of_row;
  __shared__ float shared[Of::kFloats];
  for (unsigned i = threadIdx.x; i < Of::kFloats; i += Of::kThreads) shared[i] = 0;
  __syncthreads();
  const uint32_t* const words = level.words + uint64_t{word} * level.rows;
  const uint64_t end = level.list == nullptr ? level.rows : level.begins[leaf + 1];
  const unsigned own = threadIdx.x / 32 / Of::kSetsOfBins * 32 + threadIdx.x % 32;
  const Adder<Of> adder(shared);
  constexpr unsigned kStep = Of::kRowsOfStep * kAtOnce;
  uint64_t from = level.list == nullptr ? 0 : level.begins[leaf];
  for (from += uint64_t{part} * kStep; from < end; from += uint64_t{parts} * kStep) {
    Row rows[kAtOnce];
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k) {
      const uint64_t place = from + k * Of::kRowsOfStep + own;
      if (place >= end) continue;
      rows[k] = {words[level.list == nullptr ? place : level.list[place]], level.gradients[place],
                 level.weights[place]};
    }
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k) adder.Add(rows[k]);
  }
  __syncthreads();
  constexpr unsigned kSums = Of::kBins * Of::kGroup;
  float* const out = sums + (uint64_t{leaf} * level.words_of_row + word) * kSums;
  for (unsigned i = threadIdx.x; i < kSums; i += Of::kThreads) {
    const unsigned bin = i / Of::kGroup;
    float sum = 0;
    for (unsigned set = bin / Of::kSetBins; set < Of::kSets; set += Of::kSetsOfBins) {
      for (unsigned copy = 0; copy < Of::kCopies; ++copy) {
        sum += shared[Of::At(set, bin, copy) + i % Of::kGroup];
      }
    }
    if (sum != 0) atomicAdd(out + i, sum);
  }
}

template <typename Of>
void Launch(const LevelRows& level, float* sums, cudaStream_t stream) {
  int device = 0;
  int processors = 1;
  (void)cudaGetDevice(&device);
  (void)cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  const unsigned all = static_cast<unsigned>(processors) * kBlocksOfProcessor;
  const unsigned useful =
      (level.rows_of_leaf + Of::kRowsOfStep * kAtOnce - 1) / (Of::kRowsOfStep * kAtOnce);
  const unsigned parts = std::max(1U, std::min(useful, all / (level.words_of_row * level.leaves)));
  const unsigned blocks = parts * level.words_of_row * level.leaves;
  AddRows<Of><<<blocks, Of::kThreads, 0, stream>>>(level, parts, sums);
}

template <ArticleKernel kKernel>
void LaunchFor(const LevelRows& level, float* sums, cudaStream_t stream) {
  switch (level.bins) {
    case 16:
      return Launch<Layout<16, kKernel>>(level, sums, stream);
    case 32:
      return Launch<Layout<32, kKernel>>(level, sums, stream);
    case 64:
      return Launch<Layout<64, kKernel>>(level, sums, stream);
    case 128:
      return Launch<Layout<128, kKernel>>(level, sums, stream);
    default:
      STRATA_CHECK(level.bins == 256);
      return Launch<Layout<256, kKernel>>(level, sums, stream);
  }
}

}  // namespace

void AddArticleHistogram(ArticleKernel kernel, const LevelRows& level, float* sums,
                         cudaStream_t stream) {
  if (kernel == ArticleKernel::kSlices) {
    return LaunchFor<ArticleKernel::kSlices>(level, sums, stream);
  }
  LaunchFor<ArticleKernel::kAtomics>(level, sums, stream);
}

}  // namespace strata::bench
