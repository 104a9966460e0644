// GradientCombiner: the gradients of a step by distinct key, summed in a fixed order. One place for
// it: the host table, and through it a server's synchronous steps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/seeded_hash.h"
#include "storage/memory/local_table.h"

namespace strata {

// Not thread-safe. Keeps its memory: allocates nothing while batches do not outgrow earlier ones.
class GradientCombiner {
 public:
  // The gradient of a key is ((g1 + g2) + g3) + ... over its occurrences in the order of (part,
  // position), in fp32. Results hold until the next call and read the parts' gradients in place
  // where a key came once, so the parts must stay. At most 2^32 - 2 keys in all.
  void Combine(std::span<const GradientPart> parts, uint32_t dim);

  // Distinct keys in the order of their first occurrence.
  std::span<const Key> keys() const { return keys_; }
  const float* gradient(size_t i) const {  // dim elements
    return groups_[i].sum != nullptr ? groups_[i].sum : groups_[i].first;
  }
  // How many parts brought key i: as many pushes touch its row.
  uint32_t parts(size_t i) const { return groups_[i].parts; }
  uint64_t occurrences() const { return group_of_.size(); }
  // Places of other keys that the last Combine passed on its way to those of its keys; tests bound
  // them.
  uint64_t passed() const { return passed_; }

 private:
  struct Group {
    const float* first;  // the gradient of the first occurrence
    float* sum;          // null when it is the only one
    uint32_t occurrences;
    uint32_t parts;
    uint32_t part_last;
  };
  // A slot counts as empty unless its round is the present one, so that nothing is ever cleared.
  struct Slot {
    Key key;
    uint32_t group;
    uint32_t round;
  };

  void Number(std::span<const GradientPart> parts, uint32_t dim);
  void Sum(std::span<const GradientPart> parts, uint32_t dim, size_t groups_repeated);
  void StartRound(size_t keys);
  uint32_t GroupOf(Key key);

  const SeededHash hash_;
  std::vector<Slot> slots_;  // open addressing; the size is a power of two
  uint64_t passed_ = 0;
  uint32_t round_ = 0;
  std::vector<Key> keys_;
  std::vector<Group> groups_;
  std::vector<uint32_t> group_of_;  // of each occurrence
  std::vector<float> sums_;         // of the keys that came more than once
};

}  // namespace strata
