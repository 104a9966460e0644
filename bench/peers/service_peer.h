// What a contender of suite "service" is: a store of rows by key that clients reach, ours or a
// peer's. Each is given the same keys and bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "bench/harness/scratch_folder.h"
#include "bench/peers/own_server.h"
#include "kernels/core/device_choice.h"
#include "storage/row_schema.h"
#include "strata/status.h"

namespace strata::bench {

enum class Op { kPull, kPush, kMixed };  // mixed: pulls and pushes in turn

// What one client does in a run: `count` batches out of a list used in a circle.
struct Load {
  Op op = Op::kPull;
  uint32_t dim = 16;
  size_t batch = 4096;            // keys
  size_t depth = 4;               // batches under way at a time
  std::span<const Key> keys;      // a multiple of `batch`
  std::span<const float> floats;  // batch x dim: what pushes bring
  bool logged = false;            // pushes are acknowledged once the log has them; ours only
  std::vector<TimeNs>* latencies = nullptr;  // of each batch, if asked for; depth is 1 then

  std::span<const Key> Batch(uint64_t n) const {
    return keys.subspan(n % (keys.size() / batch) * batch, batch);
  }
  bool IsPull(uint64_t n) const { return op == Op::kPull || (op == Op::kMixed && n % 2 == 0); }
};

// A client's connection. Used by one thread.
class ServiceClient {
 public:
  virtual ~ServiceClient() = default;
  // Does batches `first` to `first` + `count` - 1 of the load; pulled rows end up in memory of the
  // client, in the order of the keys. Returns when all are done.
  virtual Status Run(const Load& load, uint64_t first, uint64_t count) = 0;
};

class ServicePeer {
 public:
  virtual ~ServicePeer() = default;
  virtual std::string NameOf(Op op) const = 0;  // "redis 7.0.15 MGET"
  // Puts `rows` rows of keys KeyAt(0), KeyAt(1), ... with `dim` floats each.
  virtual Status Fill(uint64_t rows, uint32_t dim) = 0;
  virtual Result<std::unique_ptr<ServiceClient>> Connect() = 0;
};

// Rows that Fill puts, batch by batch: calls put(keys, values).
using PutRows = std::function<Status(std::span<const Key>, std::span<const float>)>;
Status FillRows(uint64_t rows, uint32_t dim, const PutRows& put);

using Peers = std::vector<std::unique_ptr<ServicePeer>>;

// A server of ours in this process, once for each way to reach it.
struct OursOptions {
  std::string name = "strata";  // unlike that of other servers here
  std::vector<Transport> transports = {};
  std::string data = {};  // folder in which it keeps a log; it has no inproc name then
  uint16_t lanes = 1;
  DeviceChoice device = {};
};
Result<Peers> StartOurs(const OursOptions& options);
// A bare ZeroMQ exchange of the same bytes: a ROUTER answers a DEALER. What is sent comes from
// memory of the sender and what comes ends in memory of the receiver, each copied once, as whoever
// owns its rows must. kKept: with this process's heap, which keeps what a message lay in. kPlain:
// with malloc as a program gets it that asks for nothing.
enum class Exchange { kKept, kPlain };
Result<std::unique_ptr<ServicePeer>> StartExchange(Exchange kind);
// Debian's redis-server as a child of this process, at a socket in a folder of its own, nothing
// saved. kNotFound when it, or hiredis at build time, is not installed.
Result<std::unique_ptr<ServicePeer>> StartRedis();
// RocksDB in this process, behind no network at all. kNotFound when it was not there at build time.
Result<std::unique_ptr<ServicePeer>> StartRocks();

}  // namespace strata::bench
