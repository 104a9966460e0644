// The load of a simulation: clients that push to shared rows, write and erase rows of their own and
// read both, with a ledger of every table that judges each answer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/sim/ledger.h"
#include "tests/sim/sim_cluster.h"

namespace strata::sim {

struct LoadOptions {
  uint64_t seed = 1;
  size_t clients = 3;                 // the first ones of the cluster
  size_t operations = 350;            // of each client
  size_t outstanding = 8;             // of each client
  size_t shared_keys = 80;            // of each table
  size_t own_keys = 12;               // of each table and client
  double hurried = 0.1;               // operations whose deadline may pass
  AckLevel ack = AckLevel::kDefault;  // of the tables
  double other_ack = 0;  // writes of level logged instead, which a loss of power may undo
  // Clients rest now and then, for so long at most, and their sessions may expire meanwhile: then
  // other clients take their places. 0: they do not.
  TimeNs rest_max = 0;
  TimeNs calm_after = 0;  // by then, nothing that was sent is under way any more
};

struct LoadCounts {
  uint64_t operations = 0;  // ended
  uint64_t acked = 0;       // writes, all of whose lanes acknowledged them
  uint64_t unknown = 0;     // writes of which some lane did not say
  uint64_t expired = 0;     // sessions
  uint64_t left = 0;        // clients
};

class Load {
 public:
  Load(Cluster& cluster, const LoadOptions& options);
  ~Load();

  Status CreateTables();
  void Begin();
  bool done() const;
  // A machine lost power: what it acknowledged as logged since then may be gone.
  void NotePowerLoss(uint16_t server, TimeNs since);
  // Reads every row once more, without faults.
  void CheckEverything();

  static constexpr size_t kTables = 2;
  TableSpec SpecOf(size_t table) const;
  const Ledger& ledger(size_t table) const { return ledgers_[table]; }
  uint64_t power_losses() const { return power_losses_; }
  Findings& findings() { return findings_; }
  const LoadCounts& counts() const { return counts_; }

 private:
  struct Batch;
  struct Client;
  struct Logged;  // an acknowledgement of level logged

  void Fill(Client& client);
  void Rest(Client& client, TimeNs time);
  void Replace(Client& client);
  void Leave(Client& client);
  void BeginNext(Client& client);
  void Submit(Client& client);
  void Push(Client& client, Batch& batch);
  void Write(Client& client, Batch& batch);
  void Read(Client& client, Batch& batch);
  void NoteReads(const std::vector<Key>& keys, Batch& batch) const;
  Key OwnKey(const Client& client, uint64_t n) const;
  void End(Client& client, const Batch& batch, const Outcome& outcome);
  void TakeStatus(Client& client, const Status& status);
  void EndWriteOf(const Client& client, const Batch& batch, const Outcome& outcome);
  void CheckRead(const Batch& batch);
  void ReadAll(size_t table, const std::vector<Key>& keys);

  Cluster& cluster_;
  const LoadOptions options_;
  std::vector<Ledger> ledgers_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<Logged> logged_;
  uint64_t power_losses_ = 0;
  Findings findings_;
  LoadCounts counts_;
};

}  // namespace strata::sim
