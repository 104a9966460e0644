// TopHits: the best documents of one query, exactly. Among equally alike ones the smaller id is
// better, so an answer does not depend on the order in which documents were looked at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/setops/set_list.h"
#include "kernels/setops/set_metric.h"

namespace strata {

struct SearchGoal {
  static constexpr size_t kAll = SIZE_MAX;

  SetMetric metric = SetMetric::kOverlapMax;
  size_t k = 100;       // how many documents; kAll: all that are alike enough
  Fraction at_least{};  // documents that are less alike are not wanted
};

struct Hit {
  DocumentId id = 0;
  uint32_t overlap = 0;
  uint32_t length = 0;  // of the document

  friend bool operator==(const Hit&, const Hit&) = default;
};

// One thread.
class TopHits {
 public:
  TopHits(const SearchGoal& goal, uint32_t query_length);

  // Of so many offers the best k are kept, and make the threshold.
  static size_t RoomFor(size_t k);

  uint32_t query_length() const { return query_length_; }
  // The least overlap, from 1 on, with which a document of this length can still be among the
  // answers. It grows as documents are offered.
  uint32_t LeastOverlap(uint32_t length);
  // overlap >= LeastOverlap(length) as it was at some time; documents in any order, each once.
  void Offer(const Hit& hit) {
    hits_.push_back({hit, Similarity(goal_.metric, hit.overlap, query_length_, hit.length)});
    if (hits_.size() >= room_) KeepBest();
  }
  // How many documents were offered so far.
  uint64_t offered() const { return dropped_ + hits_.size(); }
  // How many documents without a common token belong to the answer, once all others were offered.
  size_t StrangersWanted() const {
    return goal_.at_least.num == 0 && hits_.size() < goal_.k ? goal_.k - hits_.size() : 0;
  }
  // The answer, best first. Nothing may be offered later.
  std::vector<Hit> Take();

 private:
  struct Candidate {
    Hit hit;
    Fraction similarity;
  };
  static bool IsBetter(const Candidate& a, const Candidate& b);
  void KeepBest();

  const SearchGoal goal_;
  const uint32_t query_length_;
  const size_t room_;
  Fraction least_;  // similarity that can still be an answer
  std::vector<Candidate> hits_;
  uint64_t dropped_ = 0;       // of those that were offered
  uint32_t times_raised_ = 1;  // of least_
  struct LeastOfLength {
    uint32_t raised = 0;  // the value of times_raised_ that `overlap` is of
    uint32_t overlap = 0;
  };
  std::vector<LeastOfLength> least_overlaps_;  // by length
};

}  // namespace strata
