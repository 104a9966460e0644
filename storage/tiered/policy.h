// Policies of a tiered table, as pure functions over (key, frequency, age): which rows stay in
// memory, which keys get a row at all, and which rows have had their time.
#pragma once

#include <cstdint>
#include <string>

#include "storage/row_schema.h"
#include "strata/status.h"

namespace strata {

// What a policy may know of a row.
struct RowFacts {
  Key key;
  uint32_t frequency;  // pushes that touched it
  uint32_t age;        // operations on the table since one touched it, pulls included
};

enum class KeepPolicy : uint8_t {
  kLru,  // what was touched last stays
  kLfu,  // what was pushed most stays; of equals what was touched last
};

struct TierPolicy {
  KeepPolicy keep = KeepPolicy::kLru;
  // A row is stored from the `admit_from`-th push of its key on; earlier ones are only counted.
  uint32_t admit_from = 1;
  // A row that no push touched for more than this many steps is as if it had been erased; 0: never.
  // Nothing looks for such rows: they are counted, and take their room, until a write or a move
  // meets them. Whether one did cannot be told: a push has to be admitted either way.
  uint64_t ttl_steps = 0;
};

// Rows with lower scores go down first.
double KeepScore(const TierPolicy& policy, const RowFacts& row);

// Whether a row that a lookup found in the cold tier comes to memory, when rows with scores up to
// `score_gone` have just had to leave it.
bool MovesUp(const TierPolicy& policy, Key key, uint32_t frequency, double score_gone);

// Whether a key with that many pushes so far, the present one included, gets a row.
bool IsAdmitted(const TierPolicy& policy, uint64_t pushes);

// Whether a row last pushed at `last_step` is dead at step `now`. A row that was assigned and never
// pushed (last_step 0) has no age.
bool IsExpired(const TierPolicy& policy, uint64_t last_step, uint64_t now);

// Whether a push at `step` to a table whose newest step is `now` (0: none) goes with rows that
// expire. kInvalid names table and steps: such rows would be dead at once, or all others would be,
// as the step is more than ttl_steps + `skipped` ahead.
Status CheckStep(const TierPolicy& policy, const std::string& table, uint64_t step, uint64_t now,
                 uint64_t skipped);

}  // namespace strata
