#include "worker/gbdt/data/row_share.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/tree/gradient/exact_sum.h"

namespace strata {

Status FailTogether(Group& group, const Status& status) {
  const Status waited = group.Barrier();
  return waited.ok() || waited.code() == StatusCode::kLost ? status : waited;
}

Result<RowShare> RowShare::Divide(Group& group, size_t rows) {
  std::vector<uint64_t> all(static_cast<size_t>(group.world()));
  const auto rank = static_cast<size_t>(group.rank());
  all[rank] = rows;
  STRATA_TRY(group.Allgather(std::span(all)));
  for (size_t other = 0; other < all.size(); ++other) {
    if (all[other] > 0) continue;
    return FailTogether(
        group,
        Invalid(fmt::format(
            "rank {} of {} has no row: expected at least one (and one whole query) for each: train "
            "with fewer ranks",
            other, all.size())));
  }
  RowShare share;
  share.first_row_ =
      std::accumulate(all.begin(), all.begin() + static_cast<ptrdiff_t>(rank), uint64_t{0});
  share.all_rows_ = std::accumulate(all.begin(), all.end(), uint64_t{0});
  share.state_ = std::make_shared<State>(State{group, {}});
  return share;
}

bool RowShare::Keep(const Status& status) const {
  if (state_->status.ok()) state_->status = status;
  return state_->status.ok();
}

Status RowShare::FailEverywhere(const Status& status) const {
  if (is_whole()) return status;
  STRATA_TRY(state_->status);
  return FailTogether(state_->group, status);
}

void RowShare::Sum(std::span<int64_t> numbers) const {
  if (is_whole() || numbers.empty()) return;
  Keep(state_->group.Allreduce(numbers, ReduceOp::kSum));
}

void RowShare::Max(std::span<double> numbers) const {
  if (is_whole() || numbers.empty()) return;
  Keep(state_->group.Allreduce(numbers, ReduceOp::kMax));
}

int64_t RowShare::Sum(int64_t number) const {
  Sum(std::span(&number, 1));
  return number;
}

double RowShare::Max(double number) const {
  Max(std::span(&number, 1));
  return number;
}

double RowShare::Total(std::span<const double> numbers, WorkPool* pool) const {
  constexpr size_t kPiece = 1 << 14;
  const size_t pieces = (numbers.size() + kPiece - 1) / kPiece;
  const auto piece = [&](size_t i) {
    return numbers.subspan(i * kPiece, std::min(kPiece, numbers.size() - i * kPiece));
  };
  std::vector<double> sizes(pieces, 0);  // NaN where a number is not finite
  RunOn(pool, pieces, [&](size_t i) {
    for (const double number : piece(i)) {
      if (!std::isfinite(number)) return void(sizes[i] = std::nan(""));
      sizes[i] = std::max(sizes[i], std::fabs(number));
    }
  });
  // What is not finite has no place in an integer; the sum is not finite either.
  if (Any(std::ranges::any_of(sizes, [](double size) { return std::isnan(size); }))) {
    return std::nan("");
  }
  const double largest = Max(sizes.empty() ? 0 : *std::ranges::max_element(sizes));
  std::vector<ExactSum> sums(pieces, ExactSum(largest));
  RunOn(pool, pieces, [&](size_t i) {
    ExactSum sum(largest);
    for (const double number : piece(i)) sum.Add(number);
    sums[i] = sum;
  });
  ExactSum sum(largest);
  for (const ExactSum& of_piece : sums) sum.Add(of_piece);
  ExactSum::Parts parts = sum.parts();
  Sum(parts);
  sum.SetParts(parts);
  return sum.Value();
}

std::vector<RowShare::Bytes> RowShare::Join(
    std::span<const std::span<const std::byte>> lists) const {
  const size_t ranks = world();
  const size_t own_lists = lists.size() / ranks + (rank() < lists.size() % ranks ? 1 : 0);
  std::vector<Bytes> joined(own_lists);
  // sizes[s * lists + l]: bytes of list l at rank s.
  std::vector<uint64_t> sizes(ranks * lists.size());
  for (size_t l = 0; l < lists.size(); ++l) sizes[rank() * lists.size() + l] = lists[l].size();
  if (lists.empty() || !Keep(state_->group.Allgather(std::span(sizes)))) return joined;
  const auto size_of = [&](size_t source, size_t list) {
    return static_cast<size_t>(sizes[source * lists.size() + list]);
  };
  Bytes out;
  std::vector<size_t> out_counts(ranks);
  std::vector<size_t> in_counts(ranks);
  for (size_t other = 0; other < ranks; ++other) {
    for (size_t l = other; l < lists.size(); l += ranks) {
      out.insert(out.end(), lists[l].begin(), lists[l].end());
      out_counts[other] += lists[l].size();
    }
    for (size_t l = rank(); l < lists.size(); l += ranks) in_counts[other] += size_of(other, l);
  }
  Bytes in(std::accumulate(in_counts.begin(), in_counts.end(), size_t{0}));
  if (!Keep(state_->group.AllToAll(std::span<const std::byte>(out), std::span(in), out_counts,
                                   in_counts))) {
    return joined;
  }
  const std::byte* at = in.data();
  for (size_t source = 0; source < ranks; ++source) {
    for (size_t i = 0; i < own_lists; ++i) {
      const size_t size = size_of(source, rank() + i * ranks);
      joined[i].insert(joined[i].end(), at, at + size);
      at += size;
    }
  }
  return joined;
}

}  // namespace strata
