#include "storage/tiered/policy.h"

#include <fmt/format.h>

namespace strata {

double KeepScore(const TierPolicy& policy, const RowFacts& row) {
  const double youth = -static_cast<double>(row.age);
  switch (policy.keep) {
    case KeepPolicy::kLru:
      return youth;
    case KeepPolicy::kLfu:
      // Both are whole numbers below 2^32; the age only decides between equal frequencies.
      return static_cast<double>(row.frequency) + youth * 0x1p-32;
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

Status CheckStep(const TierPolicy& policy, const std::string& table, uint64_t step, uint64_t now,
                 uint64_t skipped) {
  if (policy.ttl_steps == 0 || now == 0) return {};
  const bool is_late = IsExpired(policy, step, now);
  const bool is_early = step > now && step - now > policy.ttl_steps + skipped;
  if (!is_late && !is_early) return {};
  return Invalid(fmt::format(
      "table '{}': a push at step {}, where the newest step is {} and rows expire after {} steps "
      "(server.ttl_steps): {}; jobs that push to one such table need one count of steps, so give "
      "this job a table of its own, or drop the table and begin anew",
      table, step, now, policy.ttl_steps,
      is_late ? "its rows would have expired already" : "all other rows would expire"));
}

}  // namespace strata
