// Ledger: what clients did to the rows of one table, and whether what they read can be true.
//
// Shared rows are pushed to by all. A row has kColumns columns for each client; the client's n-th
// push to a key adds 4^(n mod 12) to its column n / 12, so that a row says of each single push
// whether it was applied never, once or more often (two bits each, exact in a float). What must
// hold for every read:
//   - a push that was acknowledged before the read was submitted is in it;
//   - none is in it twice, none that was never made or was refused;
//   - a client's pushes take effect in its order: once one that came later is seen without an
//     earlier one, the earlier one (whose outcome is unknown) is never seen.
// An own row is written by one client alone, its n-th write sets all columns to n or erases the
// row: a read shows the newest acknowledged write or one after it, and never an older one than the
// reads before it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "storage/table_spec.h"

namespace strata::sim {

struct Findings {
  uint64_t lost = 0;
  uint64_t doubled = 0;
  uint64_t wrong = 0;
  std::string first;  // in words
  bool none() const { return lost + doubled + wrong == 0; }
  void Add(uint64_t Findings::*kind, const std::string& text);
};

enum class Fate : uint8_t { kAcked, kUnknown, kRefused };

class Ledger {
 public:
  static constexpr uint32_t kColumns = 2;  // of a client
  static constexpr uint32_t kPushesPerColumn = 12;
  static constexpr uint32_t kPushesMax = kColumns * kPushesPerColumn;
  using Mask = uint32_t;  // one bit for each of a client's pushes to a key

  Ledger(std::string name, size_t clients, size_t keys);

  uint32_t dim() const { return static_cast<uint32_t>(clients_ * kColumns); }
  size_t keys() const { return keys_; }  // shared keys are 0 to keys - 1

  // ---- shared rows
  // The number of the client's next push to the key; nothing when there are too many.
  std::optional<uint32_t> BeginPush(size_t client, Key key, TimeNs now);
  // Appends the row of its gradient, for a rule that subtracts it.
  void AppendGradient(size_t client, uint32_t push, std::vector<float>* rows) const;
  void EndPush(size_t client, Key key, uint32_t push, Fate fate, TimeNs now);
  // An acknowledgement that a loss of power made worthless.
  void Doubt(size_t client, Key key, uint32_t push);
  // What a read that is submitted now must show of the key, one mask a client.
  std::vector<Mask> Acked(Key key) const;
  void CheckShared(Key key, std::span<const float> row, std::span<const Mask> must,
                   Findings& findings);

  // ---- checkpoints of the shared rows
  // What was acknowledged, or begun, by now: the least and the most that a cut may hold.
  std::vector<Mask> AllAcked() const;
  std::vector<Mask> AllBegun() const;
  // `rows` are all shared rows of a restored checkpoint. It is to hold what was acknowledged before
  // the cut and nothing that was begun behind it; and of each client, when a push is in it, every
  // push that had been acknowledged before that one was submitted.
  void CheckCut(std::span<const float> rows, std::span<const Mask> least,
                std::span<const Mask> most, Findings& findings) const;

  // ---- rows of one client: any other key
  uint32_t BeginWrite(Key key, bool erase);  // the number to set
  void EndWrite(Key key, uint32_t write, Fate fate);
  void DoubtWrite(Key key, uint32_t write);
  // The oldest write that a read which is submitted now may show.
  uint32_t Floor(Key key) const;
  void CheckOwn(Key key, std::span<const float> row, uint32_t floor, Findings& findings);

  // A machine lost power, and with it what nobody was told of: what reads had shown of the keys it
  // holds no longer says anything. Acknowledgements are doubted one by one.
  void ForgetReads(const std::function<bool(Key)>& held);

 private:
  struct Pushes {
    uint32_t begun = 0;
    Mask acked = 0;
    Mask refused = 0;
    Mask dead = 0;  // passed by a later one: never to be seen
    std::array<TimeNs, kPushesMax> begun_at{};
    std::array<TimeNs, kPushesMax> acked_at{};
  };
  struct Own {
    std::vector<bool> erased;  // by write, the first is 1
    std::vector<bool> refused;
    std::set<uint32_t> acked;  // and not doubted
    uint32_t seen = 0;

    uint32_t last_acked() const { return acked.empty() ? 0 : *acked.rbegin(); }
    uint32_t floor() const { return std::max(last_acked(), seen); }
  };

  Pushes& Of(size_t client, Key key) { return pushes_[client * keys_ + key]; }
  const Pushes& Of(size_t client, Key key) const { return pushes_[client * keys_ + key]; }
  std::string Name(Key key) const;
  void CheckColumns(Key key, size_t client, std::span<const float> columns, Mask must,
                    Findings& findings);

  const std::string name_;
  const size_t clients_;
  const size_t keys_;
  std::vector<Pushes> pushes_;
  std::map<Key, Own> own_;
};

}  // namespace strata::sim
