// cluster.toml: what servers, workers and the admin tool share. Plain data, read once at start.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/file/disk.h"
#include "base/settings/settings.h"
#include "cluster/schedule/choice.h"
#include "cluster/tls/tls_files.h"
#include "cluster/topology/launcher.h"
#include "cluster/topology/machine_list.h"
#include "kernels/core/device_choice.h"
#include "strata/status.h"

namespace strata {

// Bits of Setting::programs.
constexpr uint32_t kProgramServer = 1U << 0;
constexpr uint32_t kProgramWorker = 1U << 1;

// The settings of cluster.toml, with the flags that strata-server and strata-worker offer for them.
const SettingsTable& ClusterSettingsTable();

struct ClusterConfig {
  std::string name = "strata";  // cluster_id is its hash
  MachineList machines;         // empty: one server on loopback (strata-server without flags)
  std::string secret;           // shared secret of the links; "" none
  TlsFiles tls;                 // of the links, not of servers; empty: without TLS
  bool insecure = false;        // allow to bind beyond loopback
  // This process: --rank and --port.
  std::optional<int> rank;
  Launcher launcher = Launcher::kAuto;  // whose variables say a worker's rank
  std::optional<uint16_t> port;         // of a server: tells a list's entries of one machine apart
  std::optional<uint16_t>
      worker_port;  // of a worker: the same, or, where nothing lists ports, the first
  std::optional<Machine> rendezvous;  // where workers find each other when nothing lists them
  int world = 0;                      // how many; 0: as the launcher says
  // The workers' collectives; all workers have the same choices.
  ChoiceTable choices = {};   // which algorithm, when
  bool shared_memory = true;  // between workers of one host
  // Server.
  std::string server_host = "127.0.0.1";  // for a server that no list names
  uint16_t server_port = 7600;            // likewise
  uint16_t lanes = 1;                     // likewise
  uint64_t memory_bytes_max = 0;          // 0: no limit
  DeviceChoice device;                    // where the rows of a server lie
  uint64_t gpu_memory_bytes = 0;          // of each GPU; 0: most of what is free
  bool cold = false;                      // rows go to the data folder when memory is short
  uint64_t cold_bytes_max = 0;            // on disk; 0: no limit
  std::string cold_keep = "lru";          // or "lfu": which rows stay in memory
  uint32_t admit_from = 1;                // push from which on a key gets a row
  uint64_t ttl_steps = 0;            // steps without a push after which a row is gone; 0: never
  uint64_t queue_bytes_max = 0;      // byte budget of requests waiting in one lane
  bool server_shared_memory = true;  // between servers and their clients of one host
  std::string data;                  // folder; "": memory only
  bool memory_only = false;          // a server of a list may start without a data folder
  uint64_t log_bytes_max = 0;        // of all lanes; 0: no limit
  std::string checkpoints;           // folder; "": <data>/checkpoints of a lone server
  uint32_t checkpoints_kept = 3;
  // Both.
  std::string http_host = "127.0.0.1";
  int http_port = 0;  // 0 picks a free one, -1 off
  TimeNs request_timeout = 30 * kSecond;
  TimeNs server_lost_after = 30 * kSecond;    // without service; then a server counts as lost
  TimeNs peer_lost_after = 10 * kSecond;      // the same for a worker's links
  TimeNs connect_timeout = 60 * kSecond;      // to gather the group at start
  TimeNs collective_timeout = 600 * kSecond;  // for one exchange of a collective
  TimeNs shutdown_timeout = 10 * kSecond;
  std::string log_level = "info";
  std::string log_file;
  // Where each setting of [server] and [tls] comes from that is not left to its default:
  // "cluster.toml:12:1", "--data".
  std::map<std::string, std::string, std::less<>> origins = {};

  uint64_t cluster_id() const;
};

// Least of server.memory that server.cold works with: the cold tier's smallest buffers are a part.
constexpr uint64_t kColdMemoryMin = uint64_t{16} << 20;
// Least of server.log_bytes_max for each lane: four of the smallest segments of a log.
constexpr uint64_t kLaneLogBytesMin = uint64_t{16} << 10;

// What a server of `lanes` lanes refuses to start with, however its settings came, those that would
// have no effect too: a line for each problem, behind the origin of what is to blame.
std::vector<std::string> ServerProblems(const ClusterConfig& config, int lanes);

// Turns loaded settings into a config: reads the machine list and the secret's file (paths are
// relative to the file that names them; those of TLS are left to who needs them) and checks what
// concerns more than one key.
Result<ClusterConfig> MakeClusterConfig(const Settings& settings, Disk& disk = RealDisk());

// kInvalid: --rank is given, and nothing lists whose rank it is. `more`: settings of the caller's
// that list workers, too, each followed by ", ".
Status CheckRankHasList(const ClusterConfig& config, std::string_view more = "");

}  // namespace strata
