// Servers in this process, on loopback ports that the system picks, and stores connected to them.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "ps/client/remote_store.h"
#include "ps/net/address.h"
#include "ps/service/server.h"
#include "tests/support/sanitizers.h"
#include "tests/support/temp_folder.h"
#include "tests/support/wait_until.h"

namespace strata {

constexpr uint64_t kTestCluster = 42;

// How the stores of a test reach its servers.
enum class Transport { kTcp, kSharedMemory, kInproc };

class TestServers {
 public:
  // `cold`: their tables lie over memory and disk. `checkpoints`: their folder; empty: none.
  TestServers(uint16_t servers, uint16_t lanes, bool cold = false,
              const std::string& checkpoints = "", Transport transport = Transport::kTcp)
      : transport_(transport) {
    static std::atomic<int> names = 0;
    const int name = ++names;
    for (uint16_t rank = 0; rank < servers; ++rank) {
      ServerOptions options;
      options.cluster_id = kTestCluster;
      options.rank = rank;
      options.lanes_per_server.assign(servers, lanes);
      options.port = 0;
      options.checkpoints = checkpoints;
      options.checkpoints_kept = 100;
      options.shared_memory = transport == Transport::kSharedMemory;
      if (kSanitized) options.search_rates.emplace();  // measuring them takes many seconds there
      if (transport == Transport::kInproc) options.inproc = fmt::format("test-{}-{}", name, rank);
      if (cold) {
        options.tables.cold = folder_.File("cold-" + std::to_string(rank));
        options.tables.memory_bytes_max = uint64_t{512} << 20;
      }
      auto server = Server::Start(options);
      EXPECT_TRUE(server.ok()) << server.status().ToString();
      if (!server.ok()) continue;
      addresses_.push_back(transport == Transport::kInproc
                               ? "inproc://" + options.inproc
                               : HostPort("127.0.0.1", (*server)->port()));
      servers_.push_back(std::move(*server));
    }
    for (const auto& server : servers_) server->SetServers(addresses_);
  }

  RemoteStoreOptions Options() const {
    RemoteStoreOptions options;
    options.servers = addresses_;
    options.cluster_id = kTestCluster;
    options.client_name = "test";
    return options;
  }
  std::unique_ptr<RemoteStore> Connect() const {
    auto store = RemoteStore::Connect(Options());
    EXPECT_TRUE(store.ok()) << store.status().ToString();
    if (!store.ok()) return nullptr;
    EXPECT_TRUE(WaitUntil([&] { return AllLanesGo(**store, transport_); }));
    return std::move(*store);
  }
  static bool AllLanesGo(RemoteStore& store, Transport transport) {
    constexpr std::array<const char*, 3> kSchemes = {"tcp://", "shm://", "inproc://"};
    const std::string scheme = kSchemes[static_cast<size_t>(transport)];
    return std::ranges::all_of(store.LaneEndpoints(), [&](const std::string& endpoint) {
      return endpoint.starts_with(scheme);
    });
  }
  Server& server(size_t i) { return *servers_[i]; }
  const std::vector<std::string>& addresses() const { return addresses_; }

 private:
  const Transport transport_;
  TempFolder folder_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<std::string> addresses_;
};

}  // namespace strata
