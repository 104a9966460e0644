// The job of a soak: a small DeepFM on generated data, trained by real workers on a soak's servers,
// with checkpoints as fast as they can be taken.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "strata/status.h"
#include "tests/soak/service_check.h"
#include "tests/soak/soak_servers.h"

namespace strata::soak {

// The workers of one run of the job, which its name tells apart from other runs. One thread.
class SoakJob {
 public:
  // Writes the data and the job file. The servers' options name the number of workers.
  SoakJob(const SoakServers* servers, ServiceCheck* check, uint64_t seed);

  void Begin(const std::string& name);  // nothing of it is known to the servers
  const std::string& table() const { return table_; }

  // Those that do not run. One that still waits for its group is joined by them.
  void StartWorkers();
  Process& worker(uint32_t rank) { return *workers_[rank]; }
  uint32_t world() const { return servers_->options().workers; }
  bool Running();  // all of them

  // Until rank 0 has written `text` to its log, or a worker has ended.
  Status AwaitLog(const std::string& text);
  void Kill(uint32_t rank);
  // The workers that are left notice by themselves. An error when one crashes.
  Status AwaitEnds();
  // The same where the group may not have been there yet: who is left then waits for it.
  Status AwaitEndsOrGroup();
  // All end well. Rank 0's output.
  Result<std::string> AwaitSuccess();
  // What was trained, as bytes.
  std::string Model() const;

 private:
  Status CheckEnd(uint32_t rank);

  const SoakServers* servers_;
  ServiceCheck* check_;
  std::string name_;
  std::string table_;
  std::vector<std::unique_ptr<Process>> workers_;
};

}  // namespace strata::soak
