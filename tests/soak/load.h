// The load of a soak, as a pure function: what operation n of client c does follows from the seed,
// so that a client needs to write down only that it submitted n, and how n ended.
//
// Every operation leaves a mark of its own on each lane that it writes to. A push adds 4^d to one
// element of a row that only its client writes (SGD at rate 1, integers below 2^24: exact), another
// d and element for each operation; read in base 4, the element's digits say how often each
// operation was applied: 0, 1, 2 or 3 times. It also adds small numbers to rows that all clients
// share. Now and then an operation assigns or erases a row (a register) instead.
#pragma once

#include <cstdint>
#include <vector>

#include "proto/wire/shard_map.h"
#include "storage/table.h"

namespace strata::soak {

constexpr uint32_t kDim = 16;
constexpr uint32_t kDigits = 11;  // 4^11 < 2^24
constexpr uint64_t kOpsPerRow = uint64_t{kDim} * kDigits;
constexpr uint32_t kSharedKeys = 64;
constexpr uint32_t kSharedKeysPerPush = 4;
constexpr uint32_t kClientsMax = kDim - 1;  // each has an element of the shared rows; the last is
                                            // everybody's
constexpr size_t kLanesMax = 16;

TableSpec SoakTable();

enum class Action : uint8_t { kPush, kAssign, kErase };

struct SharedDelta {
  uint32_t row = 0;  // below kSharedKeys
  uint32_t delta = 0;
};

struct PlannedOp {
  Action action = Action::kPush;
  uint32_t lanes = 0;               // bit set: lanes that it writes to
  std::vector<SharedDelta> shared;  // of a push; rows on these lanes, no row twice
};

// Rows of an operation with its values: gradients of a push, values of an assign.
struct Batch {
  std::vector<Key> keys;
  std::vector<float> values;
};

// Thread-safe.
class Load {
 public:
  // At most kLanesMax lanes in the map.
  Load(uint64_t seed, wire::ShardMap map);

  PlannedOp Plan(uint32_t client, uint64_t op) const;
  // `session`: which connection of the client it is; each has registers of its own.
  Batch Build(uint32_t client, uint32_t session, uint64_t op) const;

  // Row number `row` of a client on a lane; operation n marks row n / kOpsPerRow.
  Key OwnKey(uint32_t client, uint64_t row, uint32_t lane) const;
  Key RegisterKey(uint32_t client, uint32_t session, uint32_t lane) const;
  static Key SharedKey(uint32_t row) { return Key{1} + row; }
  uint32_t LaneOfShared(uint32_t row) const { return map_.LaneOf(SharedKey(row)); }
  size_t lanes() const { return map_.lanes.size(); }

 private:
  Key KeyOnLane(uint64_t high, uint32_t lane) const;

  const uint64_t seed_;
  const wire::ShardMap map_;
};

// Where operation n's digit is in its row, and what a push adds there.
inline uint32_t ElementOf(uint64_t op) { return static_cast<uint32_t>(op % kOpsPerRow) / kDigits; }
inline uint32_t DigitOf(uint64_t op) { return static_cast<uint32_t>(op % kOpsPerRow) % kDigits; }

// What a register holds after operation n assigned it; element by element.
float RegisterValue(uint64_t op, uint32_t element);

}  // namespace strata::soak
