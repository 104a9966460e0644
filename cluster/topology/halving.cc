#include "cluster/topology/halving.h"

#include <algorithm>
#include <bit>

#include "strata/status.h"

namespace strata {
namespace {

// The groups of a world under one form: which blocks (that is, ranks) each holds and who leads it.
class Groups {
 public:
  Groups(int world, HalvingForm form)
      : form_(form),
        count_(static_cast<int>(std::bit_floor(static_cast<unsigned>(world)))),
        pairs_(world - count_) {}

  int count() const { return count_; }

  // First block of group g; FirstBlock(count()) is the world.
  int FirstBlock(int g) const {
    if (form_ == HalvingForm::kPairLast) return g + std::max(0, g - (count_ - pairs_));
    return g + std::min(g, pairs_);
  }
  bool IsPair(int g) const { return FirstBlock(g + 1) - FirstBlock(g) == 2; }
  // Of a pair, the left rank leads when the last ranks pair up, the right one when the first fold.
  int Leader(int g) const {
    return FirstBlock(g) + (form_ == HalvingForm::kFoldFirst && IsPair(g) ? 1 : 0);
  }
  int GroupOf(int rank) const {
    const int paired_from = form_ == HalvingForm::kPairLast ? count_ - pairs_ : 0;
    if (rank < paired_from) return rank;
    if (rank < paired_from + 2 * pairs_) return paired_from + (rank - paired_from) / 2;
    return rank - pairs_;
  }
  // Blocks of groups [from, from + count).
  BlockRange Blocks(int from, int count) const {
    return {FirstBlock(from), FirstBlock(from + count) - FirstBlock(from)};
  }

 private:
  HalvingForm form_;
  int count_;
  int pairs_;
};

}  // namespace

std::string_view HalvingFormName(HalvingForm form) {
  return form == HalvingForm::kPairLast ? "pair-last" : "fold-first";
}

std::string_view NodeTypeName(NodeType type) {
  switch (type) {
    case NodeType::kNormal:
      return "normal";
    case NodeType::kLeader:
      return "leader";
    case NodeType::kOther:
      return "other";
  }
  return "unknown";
}

HalvingMap MakeHalvingMap(int world, int rank, HalvingForm form) {
  STRATA_CHECK(world >= 1 && rank >= 0 && rank < world);
  const Groups groups(world, form);
  const int group = groups.GroupOf(rank);
  HalvingMap map{.form = form, .rank = rank, .world = world, .virtual_rank = group, .rounds = {}};
  if (groups.IsPair(group)) {
    const bool leads = groups.Leader(group) == rank;
    map.type = leads ? NodeType::kLeader : NodeType::kOther;
    map.neighbour = 2 * groups.FirstBlock(group) + 1 - rank;
    if (!leads) {
      map.virtual_rank = -1;
      return map;
    }
  }
  for (int distance = groups.count() / 2; distance >= 1; distance /= 2) {
    const int peer = group ^ distance;
    map.rounds.push_back({.peer = groups.Leader(peer),
                          .send = groups.Blocks(peer - peer % distance, distance),
                          .recv = groups.Blocks(group - group % distance, distance)});
  }
  return map;
}

}  // namespace strata
