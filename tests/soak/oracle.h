// The oracle of a soak: outside the servers, from the clients' histories alone, it knows what every
// row must hold. Acknowledged: exactly once. Refused: never. Outcome unknown: never or once, and
// once seen for ever. It tells lost, doubled and wrong apart, operation by operation and lane by
// lane.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/soak/findings.h"
#include "tests/soak/history.h"
#include "tests/soak/load.h"

namespace strata::soak {

// A row to pull.
struct Probe {
  enum class Kind : uint8_t { kOwn, kRegister, kShared };
  Kind kind = Kind::kOwn;
  uint32_t client = 0;
  uint64_t row = 0;  // own: row number, register: session, shared: row
  uint32_t lane = 0;
  Key key = 0;
};

// One thread.
class Oracle {
 public:
  Oracle(const Load* load, uint32_t clients);

  void Take(const Record& record);

  // Rows to look at: those that can have changed lately, or all that were ever written.
  std::vector<Probe> Probes(bool all) const;
  // Compares rows (kDim elements each, in the order of the probes) that were pulled in one
  // operation while no client wrote. Each violation is found once: the oracle goes on from what
  // there is.
  void Compare(std::span<const Probe> probes, std::span<const float> rows, Findings* findings);

  uint64_t submitted() const { return submitted_; }
  uint64_t acked() const { return acked_; }  // operations acknowledged on all their lanes
  uint64_t sessions() const { return sessions_; }
  // Pushes of the client whose outcome is not known on all their lanes.
  size_t open(uint32_t client) const { return clients_[client].open.size(); }
  // The operation that a new process of the client begins with.
  uint64_t next_op(uint32_t client) const { return clients_[client].ops.size(); }
  uint32_t next_session(uint32_t client) const { return clients_[client].session + 1; }

 private:
  struct Op {
    uint16_t pushed = 0;   // lanes it was to push to
    uint16_t applied = 0;  // lanes where it must be found once
    uint16_t refused = 0;  // lanes where it must not be found
    uint16_t ignored = 0;  // lanes where something was found wrong before
    uint32_t session = 0;
  };
  struct Client {
    std::vector<Op> ops;
    std::vector<uint64_t> open;  // operations whose outcome is not known on all lanes
    uint32_t session = 0;
  };
  struct Register {
    uint64_t last = 0;              // the newest acknowledged operation + 1; 0: none
    std::vector<uint64_t> unknown;  // submitted, not acknowledged, not refused
    bool ignored = false;
  };
  using RegisterName = std::tuple<uint32_t, uint32_t, uint32_t>;  // client, session, lane

  void Submit(const Record& record);
  void Settle(const Record& record);
  void SettleRegister(const Record& record, const Op& op);
  void Close(Client& client);
  void SetApplied(uint32_t client, uint64_t op, uint32_t lane);
  void CompareOwn(const Probe& probe, std::span<const float> row, Findings* findings);
  void CompareDigit(const Probe& probe, uint64_t op, uint32_t count, Findings* findings);
  void CompareRegister(const Probe& probe, std::span<const float> row, Findings* findings);
  void CompareShared(const Probe& probe, std::span<const float> row, Findings* findings);
  float Expected(uint32_t client, uint64_t op_plus_1, uint32_t element) const;

  const Load* load_;
  std::vector<Client> clients_;
  std::map<RegisterName, Register> registers_;
  std::set<std::pair<Key, uint32_t>> spoiled_;  // elements of own rows with foreign content
  std::array<std::array<int64_t, kDim>, kSharedKeys> sums_{};
  Findings stale_;  // reported by clients, taken by the next Compare
  uint64_t submitted_ = 0;
  uint64_t acked_ = 0;
  uint64_t sessions_ = 0;
};

}  // namespace strata::soak
