// Layers that work element by element.
#include <algorithm>

#include "base/hash.h"
#include "kernels/dense/gpu/column_sums.cuh"
#include "kernels/dense/gpu/launch.cuh"
#include "kernels/dense/gpu/layers.h"
#include "kernels/dense/linear.h"

namespace strata {
namespace {

template <typename From, typename To, bool kAdds>
struct Transfer {
  ColumnsOf<From> from;
  ColumnsOf<To> to;
  __device__ void operator()(size_t i, size_t e) const {
    const float x = from.Get(i, e);
    if constexpr (kAdds) {
      to.Add(i, e, x);
    } else {
      to.Set(i, e, x);
    }
  }
};

template <bool kAdds>
void RunTransfer(const Exec& exec, size_t samples, const GpuColumns& from, const GpuColumns& to) {
  WithElements(from.type, to.type, [&](auto f, auto t) {
    using From = typename decltype(f)::type;
    using To = typename decltype(t)::type;
    RunForEachElement(exec, Transfer<From, To, kAdds>{ColumnsOf<From>(from), ColumnsOf<To>(to)},
                      samples, from.width);
  });
}

// Columns that one launch of few elements goes over.
constexpr size_t kFewColumns = 4;
template <typename T>
struct FewColumns {
  T* data[kFewColumns] = {};
  size_t stride[kFewColumns] = {};
  uint32_t count = 0;

  explicit FewColumns(std::span<const GpuColumns> all) {
    for (const GpuColumns& columns : all) {
      data[count] = static_cast<T*>(columns.data);
      stride[count++] = columns.stride;
    }
  }
  __device__ T& At(uint32_t n, size_t i, size_t e) const { return data[n][i * stride[n] + e]; }
};
// Whether all of them, and this one, go into one launch.
bool AreFew(std::span<const GpuColumns> all, const GpuColumns& other) {
  return all.size() <= kFewColumns &&
         std::all_of(all.begin(), all.end(), [&](const GpuColumns& columns) {
           return columns.type == other.type && columns.width == other.width;
         });
}

template <typename T>
struct AddUp {
  FewColumns<T> x;
  ColumnsOf<T> y;
  __device__ void operator()(size_t i, size_t e) const {
    T sum = x.At(0, i, e);
    for (uint32_t n = 1; n < x.count; ++n) {
      sum = Rounded<T>(Widened(sum) + Widened(x.At(n, i, e)));
    }
    y.Row(i)[e] = sum;
  }
};

template <typename T>
struct AddToEach {
  ColumnsOf<T> from;
  FewColumns<T> to;
  uint32_t adds;  // bits
  __device__ void operator()(size_t i, size_t e) const {
    const float x = from.Get(i, e);
    for (uint32_t n = 0; n < to.count; ++n) {
      T& at = to.At(n, i, e);
      at = Rounded<T>(((adds >> n & 1) != 0 ? Widened(at) : 0.0F) + x);
    }
  }
};

template <typename T>
struct Drop {
  ColumnsOf<T> y;
  float scale;
  uint64_t dropped_below;
  const uint64_t* seed;
  __device__ void operator()(size_t i, size_t e) const {
    const uint64_t random = Mix64(*seed ^ Mix64(i * y.width + e)) >> 32;
    y.Set(i, e, random < dropped_below ? 0.0F : y.Get(i, e) * scale);
  }
};

struct SeedOfLayer {
  uint64_t pass_seed;
  uint64_t* seeds;
  __device__ void operator()(size_t /*one*/, size_t number) const {
    seeds[number] = DropoutSeed(pass_seed, static_cast<uint32_t>(number));
  }
};

template <typename T>
struct Zero {
  ColumnsOf<T> to;
  __device__ void operator()(size_t i, size_t e) const { to.Set(i, e, 0.0F); }
};

// Element e is kAtOnce of them, from e * kAtOnce on.
template <typename T, uint32_t kAtOnce>
struct Gate {
  ColumnsOf<T> x0;
  ColumnsOf<T> g;
  ColumnsOf<T> x;
  ColumnsOf<T> y;
  __device__ void operator()(size_t i, size_t e) const {
    using Elements = Side<T, kAtOnce>;
    const Elements first = x0.template SideOf<kAtOnce>(i, e);
    const Elements gate = g.template SideOf<kAtOnce>(i, e);
    const Elements in = x.template SideOf<kAtOnce>(i, e);
    Elements out;
#pragma unroll
    for (uint32_t n = 0; n < kAtOnce; ++n) {
      out.of[n] = Rounded<T>(Widened(first.of[n]) * Widened(gate.of[n]) + Widened(in.of[n]));
    }
    y.template SideOf<kAtOnce>(i, e) = out;
  }
};

template <typename T, uint32_t kAtOnce>
struct GateBack {
  ColumnsOf<T> x0;
  ColumnsOf<T> g;
  ColumnsOf<T> dy;
  ColumnsOf<T> dg;
  ColumnsOf<T> dx0;
  ColumnsOf<T> dx;

  using Elements = Side<T, kAtOnce>;
  static constexpr uint32_t kAhead = 1;  // each has many numbers
  struct Loaded {
    Elements gradient;
    Elements first;
    Elements gate;
    Elements of_first;
  };
  __device__ Loaded Load(size_t i, size_t e) const {
    return {dy.template SideOf<kAtOnce>(i, e), x0.template SideOf<kAtOnce>(i, e),
            g.template SideOf<kAtOnce>(i, e), dx0.template SideOf<kAtOnce>(i, e)};
  }
  __device__ void operator()(const Loaded& loaded, size_t i, size_t e,
                             float (&of_columns)[kAtOnce]) const {
    const Elements& gradient = loaded.gradient;
    const Elements& first = loaded.first;
    const Elements& gate = loaded.gate;
    Elements of_gate;
    Elements of_first = loaded.of_first;
#pragma unroll
    for (uint32_t n = 0; n < kAtOnce; ++n) {
      const float d = Widened(gradient.of[n]);
      of_gate.of[n] = Rounded<T>(d * Widened(first.of[n]));
      of_columns[n] += Widened(of_gate.of[n]);
      of_first.of[n] = Rounded<T>(Widened(of_first.of[n]) + d * Widened(gate.of[n]));
    }
    dg.template SideOf<kAtOnce>(i, e) = of_gate;
    dx0.template SideOf<kAtOnce>(i, e) = of_first;
    Elements of_in = dx.template SideOf<kAtOnce>(i, e);  // may be the same numbers as dx0
#pragma unroll
    for (uint32_t n = 0; n < kAtOnce; ++n) {
      of_in.of[n] = Rounded<T>(Widened(of_in.of[n]) + Widened(gradient.of[n]));
    }
    dx.template SideOf<kAtOnce>(i, e) = of_in;
  }
};

struct Penalise {
  const float* parameters;
  float* gradients;
  size_t row;
  float scale;
  __device__ void operator()(size_t i, size_t e) const {
    gradients[i * row + e] += scale * parameters[i * row + e];
  }
};

template <typename T>
struct Convert {
  const float* from;
  T* to;
  size_t row;
  __device__ void operator()(size_t i, size_t e) const {
    to[i * row + e] = Rounded<T>(from[i * row + e]);
  }
};

// Numbers without rows, as rows of this many and what is left as one more.
constexpr size_t kFlatRow = 256;
template <typename Run>
void InFlatRows(size_t count, const Run& run) {
  const size_t rows = count / kFlatRow;
  if (rows > 0) run(size_t{0}, rows, kFlatRow);
  if (count % kFlatRow > 0) run(rows * kFlatRow, size_t{1}, count % kFlatRow);
}

}  // namespace

void GpuCopyColumns(const Exec& exec, size_t samples, const GpuColumns& from,
                    const GpuColumns& to) {
  RunTransfer<false>(exec, samples, from, to);
}

void GpuAddColumns(const Exec& exec, size_t samples, const GpuColumns& from, const GpuColumns& to) {
  RunTransfer<true>(exec, samples, from, to);
}

void GpuAddUp(const Exec& exec, size_t samples, std::span<const GpuColumns> x,
              const GpuColumns& y) {
  if (!AreFew(x, y)) {
    GpuCopyColumns(exec, samples, x[0], y);
    for (const GpuColumns& columns : x.subspan(1)) GpuAddColumns(exec, samples, columns, y);
    return;
  }
  WithElement(y.type, [&](auto element) {
    using T = typename decltype(element)::type;
    RunForEachElement(exec, AddUp<T>{FewColumns<T>(x), ColumnsOf<T>(y)}, samples, y.width);
  });
}

void GpuAddToEach(const Exec& exec, size_t samples, const GpuColumns& from,
                  std::span<const GpuColumns> to, const std::vector<bool>& adds) {
  if (!AreFew(to, from)) {
    for (size_t n = 0; n < to.size(); ++n) {
      if (!adds[n]) GpuClearColumns(exec, samples, to[n]);
      GpuAddColumns(exec, samples, from, to[n]);
    }
    return;
  }
  uint32_t bits = 0;
  for (size_t n = 0; n < to.size(); ++n) bits |= uint32_t{adds[n]} << n;
  WithElement(from.type, [&](auto element) {
    using T = typename decltype(element)::type;
    RunForEachElement(exec, AddToEach<T>{ColumnsOf<T>(from), FewColumns<T>(to), bits}, samples,
                      from.width);
  });
}

void GpuSetSeeds(const Exec& exec, uint64_t pass_seed, size_t layers, uint64_t* seeds) {
  RunForEachElement(exec, SeedOfLayer{pass_seed, seeds}, 1, layers);
}

void GpuDropout(const Exec& exec, size_t samples, float share, const uint64_t* seed,
                const GpuColumns& y) {
  WithElement(y.type, [&](auto element) {
    using T = typename decltype(element)::type;
    const auto below = static_cast<uint64_t>(double{share} * 0x1p32);
    const Drop<T> drop{ColumnsOf<T>(y), 1.0F / (1.0F - share), below, seed};
    RunForEachElement(exec, drop, samples, y.width);
  });
}

void GpuClearColumns(const Exec& exec, size_t samples, const GpuColumns& to) {
  if (to.width == to.stride) {
    (void)cudaMemsetAsync(to.data, 0, samples * to.stride * BytesOf(to.type), StreamOf(exec));
    return;
  }
  WithElement(to.type, [&](auto element) {
    using T = typename decltype(element)::type;
    RunForEachElement(exec, Zero<T>{ColumnsOf<T>(to)}, samples, to.width);
  });
}

void GpuGated(const Exec& exec, size_t samples, const GpuColumns& x0, const GpuColumns& g,
              const GpuColumns& x, const GpuColumns& y) {
  WithElement(x.type, [&](auto element) {
    using T = typename decltype(element)::type;
    using Of = ColumnsOf<T>;
    WithVectors<T>({x0, g, x, y}, [&](auto at_once) {
      constexpr uint32_t kAtOnce = decltype(at_once)::value;
      RunForEachElement(exec, Gate<T, kAtOnce>{Of(x0), Of(g), Of(x), Of(y)}, samples,
                        x.width / kAtOnce);
    });
  });
}

void GpuGatedBack(const Exec& exec, size_t samples, const GpuColumns& x0, const GpuColumns& g,
                  const GpuColumns& dy, const GpuColumns& dg, const GpuColumns& dx0,
                  const GpuColumns& dx, float* sums, void* scratch) {
  WithElement(dy.type, [&](auto element) {
    using T = typename decltype(element)::type;
    using Of = ColumnsOf<T>;
    WithVectors<T>({x0, g, dy, dg, dx0, dx}, [&](auto at_once) {
      constexpr uint32_t kAtOnce = decltype(at_once)::value;
      const GateBack<T, kAtOnce> back{Of(x0), Of(g), Of(dy), Of(dg), Of(dx0), Of(dx)};
      RunWithColumnSums<kAtOnce>(exec, back, samples, dy.width, sums, scratch);
    });
  });
}

void GpuAddPenalty(const Exec& exec, size_t count, float scale, const float* parameters,
                   float* gradients) {
  InFlatRows(count, [&](size_t begin, size_t rows, size_t width) {
    RunForEachElement(exec, Penalise{parameters + begin, gradients + begin, width, scale}, rows,
                      width);
  });
}

void GpuConvert(const Exec& exec, const float* from, size_t count, GpuElement type, void* to) {
  WithElement(type, [&](auto element) {
    using T = typename decltype(element)::type;
    InFlatRows(count, [&](size_t begin, size_t rows, size_t width) {
      RunForEachElement(exec, Convert<T>{from + begin, static_cast<T*>(to) + begin, width}, rows,
                        width);
    });
  });
}

}  // namespace strata
