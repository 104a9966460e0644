// Worker groups over real sockets on loopback, with ports that the kernel chose.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cluster/link/connect/listener.h"
#include "cluster/link/links.h"

namespace strata {

// The machine list and listening sockets of `world` ranks, before their processes start.
struct Loopback {
  explicit Loopback(int world, const std::string& host = "127.0.0.1",
                    std::shared_ptr<const TlsContext> tls_or_null = nullptr)
      : tls(std::move(tls_or_null)) {
    for (int r = 0; r < world; ++r) {
      auto listener = OpenListener(host, 0, kSecond);
      EXPECT_TRUE(listener.ok()) << listener.status().ToString();
      Machine machine;
      machine.host = host;
      machine.port = listener->port;
      machine.rank = r;
      machines.push_back(machine);
      listeners.push_back(std::move(listener).value());
    }
  }

  LinkOptions Options(int rank) const {
    LinkOptions options;
    options.workers = machines;
    options.rank = rank;
    options.cluster = "test";
    options.job = "job";
    options.secret = "a secret";
    options.tls = tls;
    options.shared_memory = tls == nullptr;  // which would carry the data past it
    options.connect_timeout = 20 * kSecond;
    return options;
  }

  // Takes over the rank's listening socket.
  std::unique_ptr<Links> Listen(LinkOptions options) {
    auto& listener = listeners[static_cast<size_t>(options.rank)];
    auto links = Links::Listen(std::move(options), std::move(listener));
    EXPECT_TRUE(links.ok()) << links.status().ToString();
    return links.ok() ? std::move(links).value() : nullptr;
  }

  std::shared_ptr<const TlsContext> tls;
  std::vector<Machine> machines;
  std::vector<Listener> listeners;
};

// Runs `body` once for each rank, each in a thread of its own.
inline void InThreads(int world, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int r = 0; r < world; ++r) threads.emplace_back([&body, r] { body(r); });
  for (std::thread& thread : threads) thread.join();
}

// All ranks listening and connected.
inline std::vector<std::unique_ptr<Links>> ConnectAll(
    Loopback* net, const std::function<void(LinkOptions*)>& adjust = [](LinkOptions*) {}) {
  const int world = static_cast<int>(net->machines.size());
  std::vector<std::unique_ptr<Links>> links(static_cast<size_t>(world));
  InThreads(world, [&](int r) {
    LinkOptions options = net->Options(r);
    adjust(&options);
    auto& mine = links[static_cast<size_t>(r)];
    mine = net->Listen(std::move(options));
    const Status status = mine->Connect();
    EXPECT_TRUE(status.ok()) << status.ToString();
  });
  return links;
}

}  // namespace strata
