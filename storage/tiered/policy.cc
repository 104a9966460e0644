#include "storage/tiered/policy.h"

namespace strata {

double KeepScore(const TierPolicy& policy, const RowFacts& row) {
  const double youth = -static_cast<double>(row.age);
  switch (policy.keep) {
    case KeepPolicy::kLru:
      return youth;
    case KeepPolicy::kLfu:
      // Both are whole numbers below 2^32; the age only decides between equal frequencies.
      return static_cast<double>(row.frequency) + youth * 0x1p-32;
    case KeepPolicy::kCustom:
      return policy.score(row);
  }
  return youth;
}

bool MovesUp(const TierPolicy& policy, Key key, uint32_t frequency, double score_gone) {
  return KeepScore(policy, {key, frequency, 0}) >= score_gone;
}

bool IsAdmitted(const TierPolicy& policy, uint64_t pushes) { return pushes >= policy.admit_from; }

bool IsExpired(const TierPolicy& policy, uint64_t last_step, uint64_t now) {
  return policy.ttl_steps != 0 && last_step != 0 && now > last_step &&
         now - last_step > policy.ttl_steps;
}

}  // namespace strata
