#include "worker/gbdt/grower/split_message.h"

#include <algorithm>
#include <cstring>

namespace strata {
namespace {

// All of a split but its set of bins, which stands behind it. Without padding: bytes are compared
// by nobody, but sent by all.
struct Fixed {
  double gain;
  double left_output;
  double right_output;
  GradientSums left;
  GradientSums right;
  int32_t feature;
  uint32_t threshold;
  uint16_t default_left;
  uint16_t categorical;
  int32_t monotone;
};

bool IsBetterFixed(const Fixed& a, const Fixed& b) {
  Split x;
  Split y;
  x.gain = a.gain;
  x.feature = a.feature;
  y.gain = b.gain;
  y.feature = b.feature;
  return IsBetter(x, y);
}

void KeepBetter(void* into, const void* from, size_t count, const void* context) {
  const size_t element = *static_cast<const size_t*>(context);
  for (size_t i = 0; i < count; ++i) {
    std::byte* const mine = static_cast<std::byte*>(into) + i * element;
    const std::byte* const other = static_cast<const std::byte*>(from) + i * element;
    Fixed a;
    Fixed b;
    std::memcpy(&a, mine, sizeof a);
    std::memcpy(&b, other, sizeof b);
    if (IsBetterFixed(b, a)) std::memcpy(mine, other, element);
  }
}

}  // namespace

SplitMessage::SplitMessage(std::span<const FeatureShape> shapes) {
  for (const FeatureShape& shape : shapes) {
    if (!shape.categorical) continue;
    set_words_ = std::max<size_t>(set_words_, (shape.bins + 63) / 64);
  }
  element_bytes_ = sizeof(Fixed) + set_words_ * sizeof(uint64_t);
}

void SplitMessage::Write(const Split& split, std::byte* element) const {
  const Fixed fixed = {.gain = split.gain,
                       .left_output = split.left_output,
                       .right_output = split.right_output,
                       .left = split.left,
                       .right = split.right,
                       .feature = split.feature,
                       .threshold = split.threshold,
                       .default_left = static_cast<uint16_t>(split.default_left ? 1 : 0),
                       .categorical = static_cast<uint16_t>(split.categorical ? 1 : 0),
                       .monotone = split.monotone};
  std::memcpy(element, &fixed, sizeof fixed);
  std::vector<uint64_t> set(set_words_, 0);
  for (const uint32_t bin : split.left_bins) set[bin / 64] |= uint64_t{1} << (bin % 64);
  if (!set.empty()) std::memcpy(element + sizeof fixed, set.data(), set_words_ * sizeof(uint64_t));
}

void SplitMessage::Read(const std::byte* element, Split* split) const {
  Fixed fixed;
  std::memcpy(&fixed, element, sizeof fixed);
  *split = {.gain = fixed.gain,
            .feature = fixed.feature,
            .threshold = fixed.threshold,
            .default_left = fixed.default_left != 0,
            .categorical = fixed.categorical != 0,
            .left_bins = {},
            .left = fixed.left,
            .right = fixed.right,
            .left_output = fixed.left_output,
            .right_output = fixed.right_output,
            .monotone = static_cast<int8_t>(fixed.monotone)};
  if (!split->categorical) return;
  std::vector<uint64_t> set(set_words_, 0);
  std::memcpy(set.data(), element + sizeof fixed, set_words_ * sizeof(uint64_t));
  for (uint32_t bin = 0; bin < set_words_ * 64; ++bin) {
    if ((set[bin / 64] >> (bin % 64) & 1) != 0) split->left_bins.push_back(bin);
  }
}

Status SplitMessage::FindBest(Group& group, std::span<Split* const> splits) {
  bytes_.resize(splits.size() * element_bytes_);
  for (size_t i = 0; i < splits.size(); ++i) Write(*splits[i], bytes_.data() + i * element_bytes_);
  STRATA_TRY(group.Allreduce(bytes_, CustomReduction(element_bytes_, KeepBetter, &element_bytes_)));
  for (size_t i = 0; i < splits.size(); ++i) Read(bytes_.data() + i * element_bytes_, splits[i]);
  return {};
}

}  // namespace strata
