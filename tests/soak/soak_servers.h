// The servers of a soak: real strata-server processes on loopback, with data folders and one folder
// of checkpoints. They can be killed and started again at any moment.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "strata/status.h"
#include "tests/support/process.h"
#include "tests/support/temp_folder.h"

namespace strata::soak {

struct SoakClusterOptions {
  uint32_t servers = 2;
  uint32_t lanes = 2;  // of each server
  uint32_t workers = 0;
  uint32_t clients = 3;
  uint64_t seed = 1;
  uint32_t copies = 1;        // servers that have each document of the collection
  bool data = true;           // servers have data folders; without, a kill loses what they hold
  std::string settings = {};  // more lines of cluster.toml, section [server]
  bool http = false;          // servers have an HTTP port
  // Whatever takes longer is a hang.
  TimeNs patience = 10 * kSecond;
};

// Errors: kDeadlineExceeded is a hang and names what waited for what; kFailed: a process ended that
// should not have, with its last words. One thread.
class SoakServers {
 public:
  // Picks ports, of the workers too, and writes cluster.toml with its machine list.
  explicit SoakServers(const SoakClusterOptions& options);

  // Starts all servers and waits until they are ready.
  Status StartServers();
  // `environment`: of that process alone.
  void StartServer(uint32_t rank, std::map<std::string, std::string> environment = {});
  Status AwaitReady(uint32_t rank);
  void KillServer(uint32_t rank);
  Process& server(uint32_t rank) { return *servers_[rank]; }
  // kFailed when a server has ended by itself.
  Status CheckServers();
  // For messages about hangs: the last that each server wrote, and how far the disk held all up.
  std::string LastWords() const;

  // Holds the data folders of all servers, and the checkpoints.
  std::string StateFolder() const { return folder_.File("state"); }
  std::string DataFolder(uint32_t rank) const;
  std::string CheckpointsFolder() const { return StateFolder() + "/checkpoints"; }
  std::string File(const std::string& name) const { return folder_.File(name); }

  const SoakClusterOptions& options() const { return options_; }
  const std::vector<std::string>& addresses() const { return addresses_; }
  std::string config() const { return File("cluster.toml"); }
  static const char* name();  // of the cluster
  static uint64_t cluster_id();

 private:
  const SoakClusterOptions options_;
  const TempFolder folder_;
  std::vector<std::string> addresses_;
  std::vector<std::unique_ptr<Process>> servers_;
};

// For messages: the last of what a process wrote; how and with what last words it ended.
std::string Tail(const std::string& text);
Status Ended(const std::string& name, Process& process);

}  // namespace strata::soak
