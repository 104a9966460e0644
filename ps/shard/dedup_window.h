// DedupWindow: makes a repeated write harmless. A client numbers its writes; a retry carries the
// same sequence. The window remembers, for each client, the sequences that this lane has decided
// and what it answered, until the client says that it will not send them again (settled_below).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "proto/format/lane_image.h"
#include "storage/log/log.h"
#include "strata/status.h"

namespace strata {

// A client's random name of 128 bits, new for every client object.
struct ClientId {
  uint64_t hi = 0;
  uint64_t lo = 0;
  friend auto operator<=>(const ClientId&, const ClientId&) = default;
};
std::string ToString(const ClientId& client);                  // 32 hexadecimal digits
std::optional<ClientId> ParseClientId(std::string_view text);  // and back

struct DedupLimits {
  size_t clients_max = 4096;
  size_t sequences_max = 1024;           // decided and not settled, for each client
  TimeNs idle_min = 600 * kSecond;       // a client younger than this keeps its place
  size_t expired_max = size_t{1} << 20;  // names of clients that left or expired, kept for good
};

// What is known of a client whose writes are remembered.
struct KnownClient {
  ClientId id;
  std::string peer;      // by which it was last heard of; empty: not since the process began
  TimeNs last_seen = 0;  // a message of any kind, or when the process began
  size_t pending = 0;    // writes that wait
  size_t unsettled = 0;  // ... or whose answer it may ask for again
};

// Not thread-safe. Invariants: a decided sequence is never forgotten while its client may repeat
// it; where memory would not suffice for that, new writes are refused instead.
class DedupWindow {
 public:
  enum class State : uint8_t { kNew, kPending, kDecided };
  struct Known {
    State state = State::kNew;
    Status answer;  // of a decided one
    Lsn lsn = 0;    // likewise: the log's record that says so; 0 without a log
  };

  explicit DedupWindow(const DedupLimits& limits = {}) : limits_(limits) {}

  // The idle client that has to be expired before Look can take in this one. Nothing when there is
  // room, and when nobody can be expired.
  std::optional<ClientId> InTheWay(const ClientId& client, TimeNs now) const;
  // A message of the client has come. One that is not known is fine.
  void Hear(const ClientId& client, const std::string& peer, TimeNs now);
  // Whether Look may take the client in as things are: it is known, has expired, or there is room.
  bool HasPlaceFor(const ClientId& client) const;
  std::vector<KnownClient> Clients() const;  // by id
  // Whether the client, which says that it will send no more writes, can be expired: it is known,
  // none of its writes waits, and there is room for its name.
  bool MayLeave(const ClientId& client) const;
  // Forgets the client's writes; it is told from now on. A client that is not known is fine.
  void Expire(const ClientId& client);

  // What is known of a client's write. Moves the client's settled mark up. Errors, none of which
  // changes what is remembered: kInvalid for sequence 0, for one below the settled mark, and for a
  // settled mark above the sequence;
  // kRefused when the client has too many unsettled writes or there are too many clients;
  // kSessionExpired when the client left or was expired, so that nobody knows which of its writes
  // were applied.
  Result<Known> Look(const ClientId& client, uint64_t sequence, uint64_t settled_below, TimeNs now);

  // After Look said kNew: the write waits and will be decided later.
  void Park(const ClientId& client, uint64_t sequence);
  // It was decided, parked before or not, by the record `lsn` of the log.
  void Decide(const ClientId& client, uint64_t sequence, const Status& answer, Lsn lsn = 0);
  // A parked write was withdrawn without effect; its repeat will be new.
  void Withdraw(const ClientId& client, uint64_t sequence);
  // What Restore said was not so after all.
  void Forget(const ClientId& client, uint64_t sequence);
  // What the log says was decided: Look and Decide in one, without the limits, which have been held
  // when the record was written.
  void Restore(const ClientId& client, uint64_t sequence, uint64_t settled_below,
               const Status& answer, Lsn lsn, TimeNs now);

  // What has to be known again after a restart, and back: writes that wait are not in it. Records
  // of the log that say so are gone by then: what is decided counts as durable.
  void SaveTo(format::LaneImage* image) const;
  void LoadFrom(const format::LaneImage& image, TimeNs now);

  size_t clients() const { return clients_.size(); }

 private:
  struct Client {
    std::map<uint64_t, Known> writes;  // pending, or decided and not settled
    uint64_t settled_below = 0;
    size_t pending = 0;
    TimeNs last_seen = 0;
    std::string peer;
  };

  void Settle(Client& client, uint64_t settled_below);

  const DedupLimits limits_;
  std::map<ClientId, Client> clients_;
  std::set<ClientId> expired_;
};

}  // namespace strata
