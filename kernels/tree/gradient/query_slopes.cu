// Gradients of a query's rows by those of all its rows: a block of threads a query. Sums that are
// not of integers are added up in the order in which the CPU does.
#include "kernels/tree/gradient/slopes.cuh"
#include "strata/gpu/bitonic_sort.cuh"

namespace strata::gpu_tree {
namespace {

constexpr unsigned kThreads = 128;

// So many numbers of each of a query's rows, one behind all rows' other, in shared memory where
// they fit.
template <int kNumbers>
struct QueryNumbers {
  double* of[kNumbers];

  __device__ QueryNumbers(const QueryView& queries, uint64_t rows, uint64_t first, uint32_t count,
                          double* shared) {
    for (int i = 0; i < kNumbers; ++i) {
      of[i] = count <= kSharedQueryRows ? shared + i * kSharedQueryRows
                                        : queries.numbers + i * rows + first;
    }
  }
};

// The slopes of the row at one place by score.
class PlaceSlopes {
 public:
  __device__ PlaceSlopes(const loss::LambdaRank& loss, const QueryView& queries,
                         double inverse_max_dcg, bool divides)
      : loss_(loss), queries_(queries), inverse_max_dcg_(inverse_max_dcg), divides_(divides) {}

  struct Row {
    double score;
    float label;
    uint32_t place;
  };

  // Adds the pair with another row; twice its lambda.
  __device__ double Add(const Row& own, const Row& other) {
    if (own.label == other.label) return 0;
    const bool is_better = own.label > other.label;
    const double gain = queries_.gains[static_cast<uint32_t>(own.label)];
    const double other_gain = queries_.gains[static_cast<uint32_t>(other.label)];
    const bool is_earlier = own.place < other.place;
    const double discount = queries_.discounts[own.place];
    const double other_discount = queries_.discounts[other.place];
    const loss::LambdaRank::Slopes slopes = loss_.Of(
        {.apart = is_better ? own.score - other.score : other.score - own.score,
         .gain_apart = is_better ? gain - other_gain : other_gain - gain,
         .discount_apart = is_earlier ? discount - other_discount : other_discount - discount},
        inverse_max_dcg_, divides_);
    if (is_better) {
      gradient_ -= slopes.gradient;
    } else {
      gradient_ += slopes.gradient;
    }
    hessian_ += slopes.hessian;
    return 2 * slopes.lambda;
  }

  __device__ Slope slope() const { return {gradient_, hessian_}; }

 private:
  const loss::LambdaRank& loss_;
  const QueryView& queries_;
  const double inverse_max_dcg_;
  const bool divides_;
  float gradient_ = 0;
  float hessian_ = 0;
};

__global__ void __launch_bounds__(kThreads)
    LambdaSlopes(uint64_t rows, uint64_t first_row, loss::LambdaRank loss, QueryView queries,
                 ScoreView scores, RowLabels labels, SlopeRoom room) {
  __shared__ double shared_numbers[2 * kSharedQueryRows];
  __shared__ uint32_t shared_places[kSharedQueryRows];
  __shared__ uint32_t of_warp[kBlockWarpsMax];
  __shared__ double factor;
  const uint64_t first = queries.begins[blockIdx.x] - first_row;
  const uint32_t count = queries.begins[blockIdx.x + 1] - queries.begins[blockIdx.x];
  if (count == 0) return;
  const QueryNumbers<2> numbers(queries, rows, first, count, shared_numbers);
  double* const keys = numbers.of[0];
  double* const sorted = numbers.of[1];
  uint32_t* const order = count <= kSharedQueryRows ? shared_places : queries.places + first;
  for (uint32_t i = threadIdx.x; i < count; i += kThreads) keys[i] = scores.At(0, first + i);
  __syncthreads();
  BitonicArgSort<false>(keys, order, count);
  for (uint32_t place = threadIdx.x; place < count; place += kThreads) {
    sorted[place] = keys[order[place]];
  }
  __syncthreads();
  const bool divides = loss.norm && sorted[0] != sorted[count - 1];
  const auto row_at = [&](uint32_t place) {
    return PlaceSlopes::Row{sorted[place], labels.labels[first + order[place]], place};
  };
  double* const sums = keys;  // of places; they are sorted
  for (uint32_t place = threadIdx.x; place < count; place += kThreads) {
    PlaceSlopes slopes(loss, queries, queries.inverse_max_dcg[blockIdx.x], divides);
    const PlaceSlopes::Row row = row_at(place);
    for (uint32_t i = 0; i < place && i < loss.truncation; ++i) slopes.Add(row, row_at(i));
    double sum = 0;
    for (uint32_t j = place + 1; place < loss.truncation && j < count; ++j) {
      sum += slopes.Add(row, row_at(j));
    }
    sums[place] = sum;
    room.slopes[first + order[place]] = slopes.slope();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    double sum = 0;
    for (uint32_t i = 0; i < count && i < loss.truncation; ++i) sum += sums[i];
    factor = loss.norm && sum > 0 ? loss::LambdaRank::FactorOf(sum) : 1;
  }
  __syncthreads();
  ThreadSizes sizes;
  for (uint32_t i = threadIdx.x; i < count; i += kThreads) {
    const Slope raw = room.slopes[first + i];
    const auto gradient = static_cast<float>(raw.gradient * factor);
    const auto hessian = static_cast<float>(raw.hessian * factor);
    const Slope slope = labels.Weigh(Slope{gradient, hessian}, first + i);
    room.slopes[first + i] = slope;
    sizes.Take(slope);
  }
  sizes.AddTo(room.sizes, of_warp);
}

// One thread, in their order.
__device__ double TotalOf(const double* numbers, uint32_t count) {
  double sum = 0;
  for (uint32_t i = 0; i < count; ++i) sum += numbers[i];
  return sum;
}

// The steps of worker/gbdt's XeNdcg, with a total between each two.
__global__ void __launch_bounds__(kThreads)
    XeNdcgSlopes(uint64_t rows, uint64_t first_row, uint64_t round_seed, QueryView queries,
                 ScoreView scores, RowLabels labels, SlopeRoom room) {
  __shared__ double shared_numbers[3 * kSharedQueryRows];
  __shared__ uint32_t of_warp[kBlockWarpsMax];
  __shared__ double total;
  const uint32_t begin = queries.begins[blockIdx.x];
  const uint64_t first = begin - first_row;
  const uint32_t count = queries.begins[blockIdx.x + 1] - begin;
  if (count <= 1) {
    if (count == 1 && threadIdx.x == 0) room.slopes[first] = {0, 0};
    return;
  }
  const QueryNumbers<3> numbers(queries, rows, first, count, shared_numbers);
  double* const rho = numbers.of[0];
  double* const terms = numbers.of[1];
  double* const sums = numbers.of[2];
  const auto for_rows = [&](const auto& change) {
    for (uint32_t i = threadIdx.x; i < count; i += kThreads) change(i);
    __syncthreads();
  };
  // What thread 0 finds of all rows, in every thread.
  const auto find = [&](const auto& of_all) {
    if (threadIdx.x == 0) total = of_all();
    __syncthreads();
    const double found = total;
    __syncthreads();
    return found;
  };
  for_rows([&](uint32_t i) { sums[i] = scores.At(0, first + i); });
  const double largest = find([&] {
    double most = sums[0];
    for (uint32_t i = 1; i < count; ++i) most = most < sums[i] ? sums[i] : most;
    return most;
  });
  for_rows([&](uint32_t i) {
    rho[i] = math::Exp(sums[i] - largest);
    terms[i] = loss::XeNdcg::GainOf(labels.labels[first + i], round_seed, uint64_t{begin} + i);
  });
  const double all = find([&] { return TotalOf(rho, count); });
  const double inverse = loss::XeNdcg::InverseOf(find([&] { return TotalOf(terms, count); }));
  for_rows([&](uint32_t i) {
    rho[i] /= all;
    sums[i] = rho[i] - terms[i] * inverse;
    terms[i] = sums[i] / (1 - rho[i]);
  });
  const double left = find([&] { return TotalOf(terms, count); });
  for_rows([&](uint32_t i) {
    const double term = rho[i] * (left - terms[i]);
    sums[i] += term;
    terms[i] = term / (1 - rho[i]);
  });
  const double next = find([&] { return TotalOf(terms, count); });
  ThreadSizes sizes;
  for_rows([&](uint32_t i) {
    const auto gradient = static_cast<float>(sums[i] + rho[i] * (next - terms[i]));
    const auto hessian = static_cast<float>(rho[i] * (1 - rho[i]));
    const Slope slope = labels.Weigh(Slope{gradient, hessian}, first + i);
    room.slopes[first + i] = slope;
    sizes.Take(slope);
  });
  sizes.AddTo(room.sizes, of_warp);
}

}  // namespace

void ComputeQuerySlopes(const TreeView& view, const loss::LambdaRank& loss,
                        const QueryView& queries, const ScoreView& scores, const RowLabels& labels,
                        const SlopeRoom& room, cudaStream_t stream) {
  if (queries.count == 0) return;
  LambdaSlopes<<<queries.count, kThreads, 0, stream>>>(view.rows, view.first_row, loss, queries,
                                                       scores, labels, room);
}

void ComputeQuerySlopes(const TreeView& view, const loss::XeNdcg& loss, uint64_t round,
                        const QueryView& queries, const ScoreView& scores, const RowLabels& labels,
                        const SlopeRoom& room, cudaStream_t stream) {
  if (queries.count == 0) return;
  XeNdcgSlopes<<<queries.count, kThreads, 0, stream>>>(
      view.rows, view.first_row, loss.SeedOf(round), queries, scores, labels, room);
}

}  // namespace strata::gpu_tree
