// Cycles of killing what calls the servers: workers, clients and strata-admin, while they push,
// take a checkpoint, or restore one. Each implementation has a cluster of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "strata/status.h"
#include "tests/soak/report.h"
#include "tests/soak/service_check.h"
#include "tests/soak/soak_servers.h"

namespace strata::soak {

// One thread. After an error the object is good for nothing.
class CallerKills {
 public:
  virtual ~CallerKills() = default;

  // Who is killed while doing what: "admin restore".
  virtual std::span<const std::string_view> kinds() const = 0;
  virtual Status Start() = 0;
  // Kills once, looks at what is left, and at the service. True when what was killed was
  // demonstrably in the middle of it.
  virtual Result<bool> Cycle(std::string_view kind) = 0;
  // Adds to what the report sums up.
  virtual void Finish(SoakReport* report) = 0;
};

// What is wrong goes into the report, an error ends the soak; both outlive the object.
struct CallerKillsOptions {
  uint64_t seed = 1;
  TimeNs patience = 10 * kSecond;
  SoakReport* report = nullptr;
  LongestWait* longest = nullptr;
};

// Clients and admins, beside other clients that push; the oracle of the kill soak compares.
std::unique_ptr<CallerKills> MakeLoadedKills(const CallerKillsOptions& options);
// Restores: rows are of one state or of the other, lane by lane.
std::unique_ptr<CallerKills> MakeRestoreKills(const CallerKillsOptions& options);
// Workers of a job: it resumes, and ends with the model of the unbroken run.
std::unique_ptr<CallerKills> MakeJobKills(const CallerKillsOptions& options);

}  // namespace strata::soak
