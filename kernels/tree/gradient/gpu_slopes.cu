#include <algorithm>
#include <vector>

#include "kernels/tree/gradient/gpu_slopes.cuh"

namespace strata::gpu_tree {

Status GpuSlopes::SetLabels(std::span<const float> labels, std::span<const float> weights,
                            const GpuRanking& ranking, cudaStream_t stream) {
  STRATA_CHECK(labels.size() == view_.rows && labels_.size() == 0);
  STRATA_TRY(labels_.Make(view_.rows, "labels on the GPU"));
  STRATA_TRY(labels_.Set(labels, stream));
  if (!ranking.gains.empty()) STRATA_TRY(SetRanking(ranking, stream));
  if (weights.empty()) return {};
  STRATA_TRY(weights_.Make(view_.rows, "weights on the GPU"));
  return weights_.Set(weights, stream);
}

Status GpuSlopes::NeedQueries(cudaStream_t stream) {
  if (queries_.begins != nullptr) return {};
  STRATA_CHECK(query_begins_.size() > 1);
  const std::vector<uint32_t> begins(query_begins_.begin(), query_begins_.end());
  STRATA_TRY(begins_.Make(begins.size(), "queries on the GPU"));
  STRATA_TRY(begins_.Set(begins, stream));
  const auto query_at = [&](uint64_t row) {
    return static_cast<size_t>(std::ranges::lower_bound(begins, row) - begins.begin());
  };
  const size_t first = query_at(view_.first_row);
  const size_t end = std::min(query_at(view_.first_row + view_.rows), begins.size() - 1);
  queries_.begins = begins_.data() + first;
  queries_.count = static_cast<uint32_t>(end - std::min(first, end));
  for (size_t q = first; q < end; ++q) {
    queries_.rows_max = std::max(queries_.rows_max, begins[q + 1] - begins[q]);
  }
  return FromCuda(cudaStreamSynchronize(stream), "queries");
}

Status GpuSlopes::SetRanking(const GpuRanking& ranking, cudaStream_t stream) {
  STRATA_TRY(NeedQueries(stream));
  STRATA_CHECK(ranking.inverse_max_dcg.size() + 1 == query_begins_.size());
  std::vector<double> discounts(queries_.rows_max);
  for (size_t place = 0; place < discounts.size(); ++place) {
    discounts[place] = loss::DiscountOf(place);
  }
  STRATA_TRY(gains_.Make(ranking.gains.size(), "gains of labels on the GPU"));
  STRATA_TRY(gains_.Set(ranking.gains, stream));
  STRATA_TRY(inverse_max_dcg_.Make(ranking.inverse_max_dcg.size(), "queries on the GPU"));
  STRATA_TRY(inverse_max_dcg_.Set(ranking.inverse_max_dcg, stream));
  STRATA_TRY(discounts_.Make(discounts.size(), "discounts on the GPU"));
  STRATA_TRY(discounts_.Set(discounts, stream));
  queries_.gains = gains_.data();
  queries_.inverse_max_dcg = inverse_max_dcg_.data() + (queries_.begins - begins_.data());
  queries_.discounts = discounts_.data();
  return FromCuda(cudaStreamSynchronize(stream), "queries");
}

Status GpuSlopes::Reserve() {
  if (slopes_.size() > 0) return {};
  STRATA_TRY(slopes_.Make(view_.rows * classes_, "gradients on the GPU"));
  return sizes_.Make(classes_, "gradients on the GPU");
}

// Of the one loss that there is.
Status GpuSlopes::ReserveForQueries(const GpuLoss& loss) {
  if (queries_.rows_max <= kSharedQueryRows || queries_.numbers != nullptr) return {};
  const bool sorts = std::holds_alternative<loss::LambdaRank>(loss);
  STRATA_TRY(query_numbers_.Make((sorts ? 2 : 3) * view_.rows, "long queries on the GPU"));
  queries_.numbers = query_numbers_.data();
  if (!sorts) return {};
  STRATA_TRY(query_places_.Make(view_.rows, "long queries on the GPU"));
  queries_.places = query_places_.data();
  return {};
}

// The loss with what it points at in this GPU's memory.
Status GpuSlopes::BringHere(GpuLoss* loss, cudaStream_t stream) {
  auto* const one_vs_all = std::get_if<loss::OneVsAll>(loss);
  if (one_vs_all == nullptr) return {};
  if (side_weights_.size() == 0) {
    STRATA_TRY(side_weights_.Make(one_vs_all->classes, "weights of classes on the GPU"));
    STRATA_TRY(side_weights_.Set(std::span(one_vs_all->weights, one_vs_all->classes), stream));
  }
  one_vs_all->weights = side_weights_.data();
  return {};
}

Status GpuSlopes::ClearSizes(cudaStream_t stream) {
  return FromCuda(cudaMemsetAsync(sizes_.data(), 0, classes_ * sizeof(SlopeSizes), stream),
                  "gradients");
}

Status GpuSlopes::Compute(const GpuLoss& loss, uint64_t round, const ScoreView& scores,
                          cudaStream_t stream) {
  STRATA_CHECK(labels_.size() == view_.rows);
  STRATA_TRY(Reserve());
  STRATA_TRY(ClearSizes(stream));
  bag_ = {};
  const RowLabels labels{labels_.data(), weights_.size() == 0 ? nullptr : weights_.data()};
  const SlopeRoom room{slopes_.data(), sizes_.data()};
  const auto* const lambda_rank = std::get_if<loss::LambdaRank>(&loss);
  const auto* const xe_ndcg = std::get_if<loss::XeNdcg>(&loss);
  if (lambda_rank == nullptr && xe_ndcg == nullptr) {
    GpuLoss here = loss;
    STRATA_TRY(BringHere(&here, stream));
    ComputeRowSlopes(view_.rows, here, scores, labels, room, stream);
    return FromCuda(cudaGetLastError(), "gradients");
  }
  STRATA_TRY(NeedQueries(stream));
  STRATA_TRY(ReserveForQueries(loss));
  if (lambda_rank != nullptr) {
    STRATA_CHECK(queries_.gains != nullptr);
    ComputeQuerySlopes(view_, *lambda_rank, queries_, scores, labels, room, stream);
  } else {
    ComputeQuerySlopes(view_, *xe_ndcg, round, queries_, scores, labels, room, stream);
  }
  return FromCuda(cudaGetLastError(), "gradients");
}

Status GpuSlopes::TakeSizes(size_t k, cudaStream_t stream) {
  return FromCuda(cudaMemcpyAsync(&view_.state->largest, sizes_.data() + k, sizeof(SlopeSizes),
                                  cudaMemcpyDefault, stream),
                  "gradients");
}

Status GpuSlopes::SetBag(const GpuBag& bag, cudaStream_t stream) {
  bag_ = {.is_all = bag.is_all(),
          .share = bag.share,
          .positive_share = bag.positive_share,
          .labels = bag.share == bag.positive_share ? nullptr : labels_.data(),
          .seed = bag.seed};
  if (!bag.by_query) return {};
  STRATA_TRY(NeedQueries(stream));
  bag_.query_begins = begins_.data();
  bag_.queries = static_cast<uint32_t>(query_begins_.size() - 1);
  return {};
}

Status GpuSlopes::ScoreRows(cudaStream_t stream) {
  if (marks_.size() == 0) {
    STRATA_TRY(goss_scores_.Make(view_.rows, "sizes of gradients on the GPU"));
    STRATA_TRY(marks_.Make(view_.rows, "a sample on the GPU"));
    STRATA_TRY(counts_.Make(KeyCut::kDigits, "a sample on the GPU"));
    STRATA_TRY(host_counts_.Make(KeyCut::kDigits, "a sample on its way from the GPU"));
  }
  ScoreForGoss(view_.rows, classes(), slopes_.data(), goss_scores_.data(), stream);
  return FromCuda(cudaGetLastError(), "a sample");
}

Status GpuSlopes::CountDigits(GossKeys keys, const GossCuts& cuts, uint64_t cut, int shift,
                              cudaStream_t stream) {
  STRATA_TRY(FromCuda(cudaMemsetAsync(counts_.data(), 0, counts_.size() * sizeof(uint32_t), stream),
                      "a sample"));
  CountGossDigits(view_, keys, cuts, goss_scores_.data(), cut, shift, counts_.data(), stream);
  STRATA_TRY(FromCuda(cudaGetLastError(), "a sample"));
  return counts_.Get(host_counts_.values(), stream);
}

Status GpuSlopes::Mark(const GossCuts& cuts, cudaStream_t stream) {
  STRATA_TRY(ClearSizes(stream));
  MarkGoss(view_, classes(), cuts, goss_scores_.data(), marks_.data(),
           {slopes_.data(), sizes_.data()}, stream);
  bag_ = {.is_all = false, .marks = marks_.data()};
  return FromCuda(cudaGetLastError(), "a sample");
}

}  // namespace strata::gpu_tree
