// The cluster of a soak: real servers with data folders, clients in processes of their own, and the
// oracle beside them. Servers and clients can be killed and started again at any moment.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "ps/client/remote_store.h"
#include "tests/soak/client_page.h"
#include "tests/soak/history.h"
#include "tests/soak/load.h"
#include "tests/soak/oracle.h"
#include "tests/soak/soak_servers.h"

namespace strata::soak {

// Errors as of SoakServers. One thread.
class SoakCluster : public SoakServers {
 public:
  explicit SoakCluster(const SoakClusterOptions& options);
  ~SoakCluster();

  // Starts all servers and makes the table; then clients may be started.
  Status Start();

  void StartClient(uint32_t client);
  void KillClient(uint32_t client);
  // A process that takes checkpoints; servers need data folders.
  void StartCheckpoints();
  void KillCheckpoints();
  uint64_t checkpoints() const { return (*checkpoints_page_)->acked; }
  Process& client(uint32_t client) { return *clients_[client]; }

  // Every client gets an operation acknowledged that it submitted after the call.
  Status AwaitProgress();
  // Until nothing is acknowledged to anybody any more.
  void AwaitStandstill();
  // No client has anything under way any more, until Resume.
  Status Pause();
  void Resume();
  // Pulls rows (all that were ever written, or those that may have changed) and compares; only
  // between Pause and Resume.
  Status Verify(bool all, Findings* findings);
  // Compares all rows through a connection of its own, and leaves the oracle as it was: for looking
  // at several versions of the servers' files.
  Status VerifyApart(Findings* findings);
  // Takes in what the clients have written down so far.
  void ReadHistories();
  // kFailed when a process has ended by itself.
  Status CheckAlive();

  const Oracle& oracle() const { return oracle_; }

 private:
  std::string ServersFlag() const;
  Status ConnectVerifier();
  Status Pull(const std::vector<Probe>& probes, std::vector<float>* rows);
  Status WaitFor(const std::string& what, const std::function<bool()>& done);

  const Load load_;
  Oracle oracle_;
  std::vector<std::unique_ptr<Process>> clients_;
  std::vector<std::unique_ptr<SharedPage>> pages_;
  std::vector<HistoryReader> readers_;
  std::unique_ptr<SharedPage> checkpoints_page_;
  std::unique_ptr<Process> checkpoints_;
  std::unique_ptr<RemoteStore> verifier_;
};

}  // namespace strata::soak
