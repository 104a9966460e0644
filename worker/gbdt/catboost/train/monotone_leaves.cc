#include "worker/gbdt/catboost/train/monotone_leaves.h"

namespace strata {
namespace {

// Leaves next to each other in a chain that share a value.
struct Plateau {
  size_t end = 0;
  double weight = 0;
  double sum = 0;
  double value() const { return sum / weight; }
};

// Bits of `number`, the lowest first, at the places that `mask` has.
uint32_t Spread(uint32_t number, uint32_t mask) {
  uint32_t spread = 0;
  for (uint32_t place = 1; mask != 0; place <<= 1) {
    if ((mask & place) == 0) continue;
    mask ^= place;
    if ((number & 1) != 0) spread |= place;
    number >>= 1;
  }
  return spread;
}

// The lowest `bits` bits in the opposite order.
uint32_t Reversed(uint32_t number, size_t bits) {
  uint32_t reversed = 0;
  for (size_t i = 0; i < bits; ++i) reversed |= ((number >> i) & 1) << (bits - 1 - i);
  return reversed;
}

}  // namespace

MonotoneLeaves::MonotoneLeaves(std::span<const int8_t> directions) {
  uint32_t directed = 0;
  uint32_t falling = 0;
  size_t directed_splits = 0;
  for (size_t split = 0; split < directions.size(); ++split) {
    if (directions[split] == 0) continue;
    directed |= 1U << split;
    if (directions[split] < 0) falling |= 1U << split;
    ++directed_splits;
  }
  const uint32_t leaves = 1U << directions.size();
  const uint32_t free = (leaves - 1) & ~directed;
  chain_ = size_t{1} << directed_splits;
  for (uint32_t chain = 0; chain < leaves >> directed_splits; ++chain) {
    for (uint32_t rank = 0; rank < chain_; ++rank) {
      // The first directed split is the highest bit of the rank.
      leaves_.push_back(Spread(chain, free) |
                        (Spread(Reversed(rank, directed_splits), directed) ^ falling));
    }
  }
}

// Neighbours that violate the order share their mean ("pool adjacent violators"; M. Ayer et al.,
// "An empirical distribution function for sampling with incomplete information", 1955).
void MonotoneLeaves::Project(std::span<const double> weights, std::span<double> values) const {
  std::vector<Plateau> plateaus;
  for (size_t begin = 0; begin < leaves_.size(); begin += chain_) {
    const std::span<const uint32_t> chain = std::span(leaves_).subspan(begin, chain_);
    plateaus.clear();
    for (size_t i = 0; i < chain.size(); ++i) {
      const double weight = weights[chain[i]];
      Plateau plateau = {.end = i + 1, .weight = weight, .sum = weight * values[chain[i]]};
      while (!plateaus.empty() && plateaus.back().value() >= plateau.value()) {
        plateau.weight += plateaus.back().weight;
        plateau.sum += plateaus.back().sum;
        plateaus.pop_back();
      }
      plateaus.push_back(plateau);
    }
    size_t i = 0;
    for (const Plateau& plateau : plateaus) {
      const double value = plateau.value();
      for (; i < plateau.end; ++i) values[chain[i]] = value;
    }
  }
}

}  // namespace strata
