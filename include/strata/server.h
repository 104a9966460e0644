// A parameter server inside this process, as strata-server runs one: for tests, for one machine,
// and for programs that serve and train at once. Clients reach it through strata/cluster.h, which
// is in the component client.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "strata/status.h"

namespace strata {

struct EmbeddedServerOptions {
  std::string config = {};  // the path of a cluster.toml; empty: the settings' defaults
  // Settings that replace those of the file, by their full names and as a flag would have them:
  // {"server.port", "0"}, {"server.data", "/var/lib/strata"}. docs/configuration.md lists them.
  // By default it listens on 127.0.0.1, port 7600, and serves HTTP on a free port. Settings of
  // section [log] have no effect: strata/log.h is for the program's log.
  std::map<std::string, std::string> settings = {};
  // A name by which clients of this process reach the server as "inproc://NAME"; empty: only as
  // others do. kExists when another server of the process has it.
  std::string inproc = {};
};

// Thread-safe. It neither handles signals nor changes the log: these belong to the program.
class EmbeddedServer {
 public:
  // Serves once it returns, what the data folder holds included. kInvalid names the setting and
  // where it comes from; kRefused, kFailed, kCorrupt: as strata-server says.
  static Result<std::unique_ptr<EmbeddedServer>> Start(const EmbeddedServerOptions& options);
  ~EmbeddedServer();  // Stop

  // Refuses new writes at once, waits for steps that have begun for at most the shutdown timeout,
  // then ends the server's threads. Blocks meanwhile; a second call does nothing.
  void Stop();

  // "host:port" of ClusterOptions::servers.
  const std::string& address() const;
  // The port of /metrics and /status; 0 when off.
  uint16_t http_port() const;

 private:
  struct Impl;
  explicit EmbeddedServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace strata
