#include "kernels/setops/top_hits.h"

#include <algorithm>
#include <utility>

namespace strata {
namespace {

constexpr size_t kKnownLengths = 4096;  // longer documents are computed each time
constexpr size_t kLeastRoom = 1024;     // of hits

}  // namespace

size_t TopHits::RoomFor(size_t k) {
  constexpr size_t kMostBeside = size_t{1} << 16;  // or half as many as k: memory counts then
  if (k > SearchGoal::kAll / 4) return SearchGoal::kAll;
  return std::max(kLeastRoom, k + std::max(std::min(3 * k, kMostBeside), k / 2));
}

TopHits::TopHits(const SearchGoal& goal, uint32_t query_length)
    : goal_(goal),
      query_length_(query_length),
      most_(room() == nullptr ? RoomFor(goal.k) : kLeastRoom),
      least_(goal.at_least) {}

TopHits::TopHits(TopHits&& other) noexcept
    : goal_(other.goal_),
      query_length_(other.query_length_),
      most_(other.most_),
      taken_(std::exchange(other.taken_, 0)),
      least_(other.least_),
      hits_(std::move(other.hits_)),
      dropped_(other.dropped_),
      times_raised_(other.times_raised_),
      least_overlaps_(std::move(other.least_overlaps_)) {}

void TopHits::GiveBack() {
  if (taken_ > 0) room()->GiveBack(std::exchange(taken_, 0));
}

void TopHits::KeepFewer() {
  if (room() == nullptr) return KeepBest();
  room()->Take(hits_.size() - taken_);
  taken_ = hits_.size();
  if (room()->IsExceeded()) {
    dropped_ += hits_.size();
    hits_.clear();
  } else {
    most_ += std::max(kLeastRoom, most_ / 2);
  }
}

uint32_t TopHits::LeastOverlap(uint32_t length) {
  if (length >= kKnownLengths)
    return strata::LeastOverlap(goal_.metric, least_, query_length_, length);
  if (length >= least_overlaps_.size()) least_overlaps_.resize(length + 1);
  LeastOfLength& known = least_overlaps_[length];
  if (known.raised != times_raised_) {
    known = {times_raised_, strata::LeastOverlap(goal_.metric, least_, query_length_, length)};
  }
  return known.overlap;
}

bool TopHits::IsBetter(const Candidate& a, const Candidate& b) {
  if (IsLess(b.similarity, a.similarity)) return true;
  if (IsLess(a.similarity, b.similarity)) return false;
  return a.hit.id < b.hit.id;
}

void TopHits::KeepBest() {
  if (hits_.size() < goal_.k) return;
  if (goal_.k == 0) {
    dropped_ += hits_.size();
    hits_.clear();
    return;
  }
  const auto last = hits_.begin() + static_cast<ptrdiff_t>(goal_.k - 1);
  std::nth_element(hits_.begin(), last, hits_.end(), IsBetter);
  dropped_ += static_cast<uint64_t>(hits_.end() - (last + 1));
  hits_.erase(last + 1, hits_.end());
  if (IsLess(least_, hits_.back().similarity)) {
    least_ = hits_.back().similarity;
    ++times_raised_;
  }
}

std::vector<Hit> TopHits::Take() {
  // What was offered before the threshold rose, or by a bound that is not this one, goes.
  std::erase_if(hits_, [&](const Candidate& c) { return IsLess(c.similarity, goal_.at_least); });
  const size_t count = std::min(goal_.k, hits_.size());
  const auto end = hits_.begin() + static_cast<ptrdiff_t>(count);
  std::nth_element(hits_.begin(), end, hits_.end(), IsBetter);
  std::sort(hits_.begin(), end, IsBetter);
  std::vector<Hit> answer(count);
  for (size_t i = 0; i < count; ++i) answer[i] = hits_[i].hit;
  if (room() != nullptr) {
    GiveBack();
    room()->Take(count);
  }
  return answer;
}

}  // namespace strata
