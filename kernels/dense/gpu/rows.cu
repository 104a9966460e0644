#include "kernels/dense/gpu/launch.cuh"
#include "kernels/dense/gpu/rows.h"
#include "strata/status.h"

namespace strata {
namespace {

// The first key of a bag.
__device__ uint32_t BeginOf(const CompactRows& batch, size_t bag) {
  return batch.offsets == nullptr ? static_cast<uint32_t>(bag) : batch.offsets[bag];
}

__device__ float WeightOf(const CompactRows& batch, uint32_t key) {
  return batch.key_weights == nullptr ? 1.0F : batch.key_weights[key];
}

template <typename T>
struct Pool {
  CompactRows batch;
  size_t row_dim;
  ColumnsOf<T> to;
  __device__ void operator()(size_t i, size_t e) const {
    const size_t bag = i * batch.slots + e / batch.dim;
    const size_t element = row_dim - batch.dim + e % batch.dim;
    float sum = 0.0F;
    if (i >= batch.samples) return to.Set(i, e, sum);
    for (uint32_t k = BeginOf(batch, bag); k < BeginOf(batch, bag + 1); ++k) {
      sum += WeightOf(batch, k) * batch.rows[batch.index[k] * row_dim + element];
    }
    to.Set(i, e, sum);
  }
};

template <typename T>
struct PoolWeights {
  CompactRows batch;
  size_t row_dim;
  const float* bias;
  ColumnsOf<T> y;
  __device__ void operator()(size_t i, size_t /*one*/) const {
    float sum = bias == nullptr ? y.Get(i, 0) : *bias;
    if (i >= batch.samples) return y.Set(i, 0, sum);
    const uint32_t end = BeginOf(batch, (i + 1) * batch.slots);
    for (uint32_t k = BeginOf(batch, i * batch.slots); k < end; ++k) {
      sum += WeightOf(batch, k) * batch.rows[batch.index[k] * row_dim];
    }
    y.Set(i, 0, sum);
  }
};

template <typename P, typename Y>
struct SumPooledWeights {
  ColumnsOf<P> pooled;
  size_t slots;
  size_t row_stride;
  const float* bias;
  ColumnsOf<Y> y;
  __device__ void operator()(size_t i, size_t /*one*/) const {
    float sum = bias == nullptr ? y.Get(i, 0) : *bias;
#pragma unroll 8
    for (size_t s = 0; s < slots; ++s) sum += pooled.Get(i, s * row_stride);
    y.Set(i, 0, sum);
  }
};

template <uint32_t kAtOnce, typename T>
__device__ Side<T, kAtOnce> SideAt(const T* elements) {
  return *reinterpret_cast<const Side<T, kAtOnce>*>(elements);
}
// The elements from the second of `first` on, as many as it has; `next` come behind it.
template <typename T, uint32_t kAtOnce>
__device__ Side<T, kAtOnce> Shifted(const Side<T, kAtOnce>& first, const Side<T, kAtOnce>& next) {
  Side<T, kAtOnce> shifted;
#pragma unroll
  for (uint32_t k = 0; k + 1 < kAtOnce; ++k) shifted.of[k] = first.of[k + 1];
  shifted.of[kAtOnce - 1] = next.of[0];
  return shifted;
}

// kAtOnce elements of a slot's vector.
template <typename T, uint32_t kAtOnce>
struct TakeVectors {
  ColumnsOf<T> pooled;
  uint32_t row_stride;
  uint32_t parts;  // of a vector
  ColumnsOf<T> vectors;
  __device__ void operator()(size_t i, size_t n) const {
    const uint32_t slot = static_cast<uint32_t>(n) / parts;
    const uint32_t part = static_cast<uint32_t>(n) % parts;
    const T* const from = pooled.Row(i) + slot * row_stride + part * kAtOnce;
    Side<T, kAtOnce> side;
    if constexpr (kAtOnce == 1) {
      side.of[0] = from[1];
    } else {  // the vector begins behind the weight
      side = Shifted(SideAt<kAtOnce>(from), SideAt<kAtOnce>(from + kAtOnce));
    }
    vectors.template SideOf<kAtOnce>(i, n) = side;
  }
};

// The gradient of vectors, to which a factorization machine over them adds its own where it has any
// (kFm), as GpuFmBack does.
template <typename L, typename V, bool kFm>
struct VectorGradients {
  ColumnsOf<V> dvectors;
  ColumnsOf<V> vectors;
  const float* sums;
  ColumnsOf<L> dy;
  uint32_t dim;

  // The elements `e` and on of a slot's vector.
  template <uint32_t kAtOnce>
  __device__ Side<V, kAtOnce> At(size_t i, uint32_t slot, uint32_t e) const {
    Side<V, kAtOnce> side = SideAt<kAtOnce>(dvectors.Row(i) + slot * dim + e);
    if constexpr (kFm) {
      const Side<V, kAtOnce> elements = SideAt<kAtOnce>(vectors.Row(i) + slot * dim + e);
      const auto sum = SideAt<kAtOnce>(sums + i * dim + e);
      const float d = dy.Get(i, 0);
#pragma unroll
      for (uint32_t k = 0; k < kAtOnce; ++k) {
        side.of[k] = Rounded<V>(Widened(side.of[k]) + d * (sum.of[k] - Widened(elements.of[k])));
      }
    }
    return side;
  }
};

// Four elements of a slot's row.
template <typename L, typename V, bool kFm>
struct GiveGradients {
  static constexpr uint32_t kAtOnce = 4;
  ColumnsOf<L> dlogits;
  VectorGradients<L, V, kFm> gradients;
  uint32_t parts;  // of a row
  bool in_fours;   // vectors are
  ColumnsOf<V> pooled;
  __device__ void operator()(size_t i, size_t n) const {
    const uint32_t dim = gradients.dim;
    const uint32_t slot = static_cast<uint32_t>(n) / parts;
    const uint32_t first = static_cast<uint32_t>(n) % parts * kAtOnce;
    const auto element = [&](uint32_t e) {
      if (e == 0) return Rounded<V>(dlogits.Get(i, 0));
      return e <= dim ? gradients.template At<1>(i, slot, e - 1).of[0] : Rounded<V>(0.0F);
    };
    Side<V, kAtOnce> side = {};
    if (in_fours) {
      Side<V, kAtOnce> four = {};
      if (first < dim) four = gradients.template At<kAtOnce>(i, slot, first);
      side.of[0] = element(first);
#pragma unroll
      for (uint32_t k = 1; k < kAtOnce; ++k) side.of[k] = four.of[k - 1];
    } else {
#pragma unroll
      for (uint32_t k = 0; k < kAtOnce; ++k) side.of[k] = element(first + k);
    }
    pooled.template SideOf<kAtOnce>(i, n) = side;
  }
};

struct BagOfKeys {
  const uint32_t* offsets;
  uint32_t* bags;
  __device__ void operator()(size_t bag, size_t /*one*/) const {
    for (uint32_t k = offsets[bag]; k < offsets[bag + 1]; ++k) bags[k] = static_cast<uint32_t>(bag);
  }
};

// One after the other, a row or a window or both go up by one, so their sum names a pair of them.
__device__ size_t PlaceOfSum(size_t row, size_t window) { return row + window; }

template <typename V, typename L>
struct SumWindow {
  CompactRows batch;
  size_t row_dim;
  KeysByRow keys;
  ColumnsOf<V> dvectors;
  ColumnsOf<L> dlogits;
  float* partial;
  __device__ float Gradient(uint32_t key, size_t e) const {
    const uint32_t bag = keys.bags == nullptr ? key : keys.bags[key];
    const auto slots = static_cast<uint32_t>(batch.slots);
    if (batch.has_weight && e == 0) {
      return dlogits.data == nullptr ? 0.0F : dlogits.Get(bag / slots, 0);
    }
    if (dvectors.data == nullptr) return 0.0F;
    const size_t d = e - (batch.has_weight ? 1 : 0);
    return dvectors.Get(bag / slots, bag % slots * batch.dim + d);
  }
  __device__ void operator()(size_t window, size_t e) const {
    const size_t begin = window * kRowWindowKeys;
    const size_t end = begin + kRowWindowKeys < keys.keys ? begin + kRowWindowKeys : keys.keys;
    uint32_t row = batch.index[keys.sorted[begin]];
    float sum = 0.0F;
    for (size_t n = begin; n < end; ++n) {
      const uint32_t key = keys.sorted[n];
      const uint32_t its_row = batch.index[key];
      if (its_row != row) {
        partial[PlaceOfSum(row, window) * row_dim + e] = sum;
        sum = 0.0F;
        row = its_row;
      }
      sum += WeightOf(batch, key) * Gradient(key, e);
    }
    partial[PlaceOfSum(row, window) * row_dim + e] = sum;
  }
};

struct JoinRow {
  CompactRows batch;
  size_t row_dim;
  KeysByRow keys;
  const float* partial;
  float l2;
  float* gradients;
  __device__ void operator()(size_t row, size_t e) const {
    const uint32_t begin = keys.starts[row];
    const uint32_t end = keys.starts[row + 1];
    const size_t last = (end - 1) / kRowWindowKeys;
    float sum = 0.0F;
    for (size_t window = begin / kRowWindowKeys; window <= last; ++window) {
      sum += partial[PlaceOfSum(row, window) * row_dim + e];
    }
    if (l2 != 0.0F) {
      sum += l2 * static_cast<float>(end - begin) * batch.rows[row * row_dim + e];
    }
    gradients[row * row_dim + e] = sum;
  }
};

}  // namespace

void GpuPoolCompact(const Exec& exec, size_t samples, const CompactRows& batch,
                    const GpuColumns& to) {
  WithElement(to.type, [&](auto element) {
    using T = typename decltype(element)::type;
    RunForEachElement(exec, Pool<T>{batch, batch.row_dim(), ColumnsOf<T>(to)}, samples,
                      batch.slots * batch.dim);
  });
}

void GpuPoolWeights(const Exec& exec, size_t samples, const CompactRows& batch, const float* bias,
                    const GpuColumns& y) {
  WithElement(y.type, [&](auto element) {
    using T = typename decltype(element)::type;
    RunForEachElement(exec, PoolWeights<T>{batch, batch.row_dim(), bias, ColumnsOf<T>(y)}, samples,
                      1);
  });
}

void GpuSumPooledWeights(const Exec& exec, size_t samples, const PooledRows& rows,
                         const float* bias, const GpuColumns& y) {
  WithElements(rows.pooled.type, y.type, [&](auto of_pooled, auto of_y) {
    using P = typename decltype(of_pooled)::type;
    using Y = typename decltype(of_y)::type;
    const SumPooledWeights<P, Y> sum{ColumnsOf<P>(rows.pooled), rows.slots, rows.row_stride, bias,
                                     ColumnsOf<Y>(y)};
    RunForEachElement(exec, sum, samples, 1);
  });
}

void GpuTakeVectors(const Exec& exec, size_t samples, const PooledRows& rows,
                    const GpuColumns& vectors) {
  STRATA_CHECK(rows.pooled.type == vectors.type);
  WithElement(vectors.type, [&](auto element) {
    using T = typename decltype(element)::type;
    const bool in_fours = rows.dim % 4 == 0 && rows.row_stride % 4 == 0;
    WithFours(in_fours && BeginInFours<T>({rows.pooled, vectors}), [&](auto at_once) {
      constexpr uint32_t kAtOnce = decltype(at_once)::value;
      const auto parts = static_cast<uint32_t>(rows.dim / kAtOnce);
      const TakeVectors<T, kAtOnce> op{ColumnsOf<T>(rows.pooled),
                                       static_cast<uint32_t>(rows.row_stride), parts,
                                       ColumnsOf<T>(vectors)};
      RunForEachElement(exec, op, samples, rows.slots * parts);
    });
  });
}

void GpuGiveGradients(const Exec& exec, size_t samples, const GpuColumns& dlogits,
                      const GpuColumns& dvectors, const PooledRows& rows, const FmGradient& fm) {
  const bool has_fm = fm.vectors.data != nullptr;
  STRATA_CHECK(dvectors.data == nullptr || dvectors.type == rows.pooled.type);
  STRATA_CHECK(!has_fm || (fm.vectors.type == dvectors.type && fm.dy.type == dlogits.type));
  WithElements(dlogits.type, rows.pooled.type, [&](auto of_logits, auto of_pooled) {
    using L = typename decltype(of_logits)::type;
    using V = typename decltype(of_pooled)::type;
    const auto run = [&](auto with_fm) {
      constexpr bool kFm = decltype(with_fm)::value;
      using Give = GiveGradients<L, V, kFm>;
      const auto dim = static_cast<uint32_t>(rows.dim);
      const auto parts = static_cast<uint32_t>(rows.row_stride / Give::kAtOnce);
      const bool in_fours = dim > 0 && dim % 4 == 0 && BeginInFours<V>({dvectors, fm.vectors});
      const Give give{
          ColumnsOf<L>(dlogits),
          {ColumnsOf<V>(dvectors), ColumnsOf<V>(fm.vectors), fm.sums, ColumnsOf<L>(fm.dy), dim},
          parts,
          in_fours,
          ColumnsOf<V>(rows.pooled)};
      RunForEachElement(exec, give, samples, rows.slots * parts);
    };
    if (has_fm) {
      run(std::true_type());
    } else {
      run(std::false_type());
    }
  });
}

void GpuBagsOfKeys(const Exec& exec, size_t bag_count, const uint32_t* offsets, uint32_t* bags) {
  RunForEachElement(exec, BagOfKeys{offsets, bags}, bag_count, 1);
}

void GpuRowGradients(const Exec& exec, const CompactRows& batch, const KeysByRow& keys,
                     const GpuColumns& dvectors, const GpuColumns& dlogits, float l2,
                     float* partial, float* gradients) {
  const size_t row_dim = batch.row_dim();
  WithElements(dvectors.type, dlogits.type, [&](auto of_vectors, auto of_logits) {
    using V = typename decltype(of_vectors)::type;
    using L = typename decltype(of_logits)::type;
    RunForEachElement(exec,
                      SumWindow<V, L>{batch, row_dim, keys, ColumnsOf<V>(dvectors),
                                      ColumnsOf<L>(dlogits), partial},
                      (keys.keys + kRowWindowKeys - 1) / kRowWindowKeys, row_dim);
  });
  RunForEachElement(exec, JoinRow{batch, row_dim, keys, partial, l2, gradients}, keys.rows,
                    row_dim);
}

}  // namespace strata
