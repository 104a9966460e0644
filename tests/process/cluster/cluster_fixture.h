// A cluster of real daemons on loopback for one test: a machine list and a cluster file in a folder
// of its own, servers, workers, and the admin tool. All of it ends with the object.
#pragma once

#include <deque>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/process.h"
#include "tests/support/temp_folder.h"

namespace strata {

class ClusterFixture {
 public:
  // Picks ports and writes machines.txt and cluster.toml; `more` is appended to the latter.
  ClusterFixture(int servers, int workers, const std::string& more = "");

  // From the next StartServer on, servers keep data in folders of their own, and checkpoints in
  // one.
  void KeepData() { keep_data_ = true; }

  // Starts all servers and waits until each says that it is ready.
  void StartServers();
  void StartServer(int rank);
  // Starts all workers on the job of examples/adult, with `overrides` of its keys.
  void StartWorkers(const std::vector<std::string>& overrides);
  void StartWorker(int rank, const std::vector<std::string>& overrides);

  // strata-admin with this cluster's file in front of the arguments.
  ProcessResult Admin(std::vector<std::string> arguments) const;

  Process& server(int rank) { return *servers_[static_cast<size_t>(rank)]; }
  Process& worker(int rank) { return *workers_[static_cast<size_t>(rank)]; }
  const std::string& server_address(int rank) const {
    return server_addresses_[static_cast<size_t>(rank)];
  }
  const std::string& worker_address(int rank) const {
    return worker_addresses_[static_cast<size_t>(rank)];
  }
  std::string config() const { return folder_.File("cluster.toml"); }
  const TempFolder& folder() const { return folder_; }

 private:
  TempFolder folder_;
  bool keep_data_ = false;
  std::vector<std::string> server_addresses_;
  std::vector<std::string> worker_addresses_;
  std::deque<std::unique_ptr<Process>> servers_;  // by rank; null until started
  std::deque<std::unique_ptr<Process>> workers_;
};

// The path of the job of examples/adult.
std::string AdultJob();

// The last line of a worker's --json output; fails the test when there is none.
nlohmann::json LastJson(const std::string& output);

// Trains the job on a new cluster of that shape (0 servers: embedded, in one process) and returns
// its last line. The model goes to `model` when that is not empty.
nlohmann::json TrainOn(int servers, int workers, std::vector<std::string> overrides,
                       const std::string& model = "");

}  // namespace strata
