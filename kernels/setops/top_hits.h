// TopHits: the best documents of one query, exactly. Among equally alike ones the smaller id is
// better, so an answer does not depend on the order in which documents were looked at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/setops/hit_room.h"
#include "kernels/setops/set_metric.h"
#include "strata/set_search.h"

namespace strata {

// One thread.
class TopHits {
 public:
  // Without k it takes of goal.room as it grows. Once that is exceeded it keeps nothing.
  TopHits(const SearchGoal& goal, uint32_t query_length);
  ~TopHits() { GiveBack(); }
  TopHits(TopHits&& other) noexcept;
  TopHits& operator=(TopHits&&) = delete;

  // Of so many offers the best k are kept, and make the threshold.
  static size_t RoomFor(size_t k);

  uint32_t query_length() const { return query_length_; }
  // The least overlap, from 1 on, with which a document of this length can still be among the
  // answers. It grows as documents are offered.
  uint32_t LeastOverlap(uint32_t length);
  // overlap >= LeastOverlap(length) as it was at some time; documents in any order, each once.
  void Offer(const Hit& hit) {
    hits_.push_back({hit, Similarity(goal_.metric, hit.overlap, query_length_, hit.length)});
    if (hits_.size() >= most_) KeepFewer();
  }
  // How many documents were offered so far.
  uint64_t offered() const { return dropped_ + hits_.size(); }
  // How many documents without a common token belong to the answer, once all others were offered.
  size_t StrangersWanted() const {
    return goal_.at_least.num == 0 && hits_.size() < goal_.k ? goal_.k - hits_.size() : 0;
  }
  // Where all answers of the search take of; null: nowhere.
  HitRoom* room() const { return goal_.k == SearchGoal::kAll ? goal_.room : nullptr; }
  // The answer, best first. Nothing may be offered later. What it has is taken of room().
  std::vector<Hit> Take();

 private:
  struct Candidate {
    Hit hit;
    Fraction similarity;
  };
  static bool IsBetter(const Candidate& a, const Candidate& b);
  void KeepFewer();
  void KeepBest();
  void GiveBack();

  const SearchGoal goal_;
  const uint32_t query_length_;
  size_t most_;         // hits, before some are dropped or more room is taken
  uint64_t taken_ = 0;  // of room()
  Fraction least_;      // similarity that can still be an answer
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
