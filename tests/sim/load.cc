#include "tests/sim/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace strata::sim {
namespace {

constexpr size_t kKeysMax = 6;  // of an operation
constexpr Key kOwnKeys = Key{1} << 32;
constexpr TimeNs kPatience = 600 * kSecond;
constexpr TimeNs kHurry = 300 * kMillisecond;
constexpr double kRestOften = 0.02;
constexpr double kLeaveOften = 0.01;

bool Shared(Key key) { return key < kOwnKeys; }

}  // namespace

struct Load::Batch {
  size_t table = 0;
  OpKind kind{};
  AckLevel ack{};
  std::vector<Key> keys;          // that are written
  std::vector<uint32_t> numbers;  // of pushes or writes
  std::vector<float> in;
  std::vector<Key> read_keys;
  std::vector<uint32_t> floors;                 // of own rows: the oldest write that may be read
  std::vector<std::vector<Ledger::Mask>> must;  // of shared rows: what must be read
  std::vector<float> out;
  uint64_t power_losses = 0;
};

struct Load::Client {
  size_t index = 0;
  Random random{0};
  size_t submitted = 0, open = 0;
  bool rests = false;
  bool leaves = false;  // once nothing is open
};

struct Load::Logged {
  TimeNs at = 0;
  uint16_t server = 0;
  size_t client = 0, table = 0;
  Key key = 0;
  uint32_t number = 0;
};

Load::Load(Cluster& cluster, const LoadOptions& options) : cluster_(cluster), options_(options) {
  for (size_t table = 0; table < kTables; ++table) {
    ledgers_.emplace_back(SpecOf(table).name, options.clients, options.shared_keys);
  }
  for (size_t i = 0; i < options.clients; ++i) {
    clients_.push_back(std::make_unique<Client>());
    clients_.back()->index = i;
    clients_.back()->random = Random(options.seed * 1000 + i);
  }
}

Load::~Load() = default;

TableSpec Load::SpecOf(size_t table) const {
  TableSpec spec;
  spec.name = table == 0 ? "clicks" : "views";
  spec.dim = static_cast<uint32_t>(options_.clients * Ledger::kColumns);
  spec.optimizer.learning_rate = 1.0F;
  spec.ack = options_.ack;
  return spec;
}

Status Load::CreateTables() {
  for (size_t table = 0; table < kTables; ++table) {
    STRATA_TRY(cluster_.CreateTable(table % options_.clients, SpecOf(table)));
  }
  return {};
}

void Load::Begin() {
  for (const auto& client : clients_) Fill(*client);
}

bool Load::done() const {
  return std::ranges::all_of(clients_, [&](const auto& client) {
    return client->open == 0 && client->submitted == options_.operations;
  });
}

void Load::Fill(Client& client) {
  while (!client.rests && client.open < options_.outstanding &&
         client.submitted < options_.operations) {
    Submit(client);
  }
}

void Load::Rest(Client& client, TimeNs time) {
  client.rests = true;
  cluster_.At(cluster_.now() + time, [this, &client] {
    client.rests = false;
    Fill(client);
  });
}

// Nobody knows what became of what the client has under way.
void Load::Replace(Client& client) {
  ++counts_.expired;
  client.rests = true;
  cluster_.At(cluster_.now(), [this, &client] {
    cluster_.client(client.index).Abort(Lost("its session expired"));
  });
  BeginNext(client);
}

// It has the outcome of all that it submitted; copies may be under way.
void Load::Leave(Client& client) {
  ++counts_.left;
  client.leaves = false;
  cluster_.At(cluster_.now(), [this, &client] { cluster_.client(client.index).Leave(); });
  BeginNext(client);
}

// The next client begins when nothing of the one before can come late: clients promise no order
// between each other.
void Load::BeginNext(Client& client) {
  cluster_.At(cluster_.now() + options_.calm_after, [this, &client] {
    cluster_.RenewClient(client.index);
    client.rests = false;
    Fill(client);
  });
}

Key Load::OwnKey(const Client& client, uint64_t n) const {
  return kOwnKeys * (client.index + 1) + n;
}

void Load::Push(Client& client, Batch& batch) {
  const Ledger& rows = ledgers_[batch.table];
  std::set<Key> keys;
  for (size_t i = client.random.Below(kKeysMax) + 1; i > 0; --i) {
    keys.insert(client.random.Below(rows.keys()));
  }
  for (const Key key : keys) {
    const auto push = ledgers_[batch.table].BeginPush(client.index, key, cluster_.now());
    if (!push) continue;
    batch.keys.push_back(key);
    batch.numbers.push_back(*push);
    rows.AppendGradient(client.index, *push, &batch.in);
  }
}

void Load::Write(Client& client, Batch& batch) {
  const size_t dim = ledgers_[batch.table].dim();
  std::set<Key> keys;
  for (size_t i = client.random.Below(kKeysMax) + 1; i > 0; --i) {
    keys.insert(OwnKey(client, client.random.Below(options_.own_keys)));
  }
  for (const Key key : keys) {
    const bool erase = batch.kind == OpKind::kErase;
    batch.keys.push_back(key);
    batch.numbers.push_back(ledgers_[batch.table].BeginWrite(key, erase));
    if (!erase) batch.in.resize(batch.in.size() + dim, static_cast<float>(batch.numbers.back()));
  }
}

void Load::Read(Client& client, Batch& batch) {
  const Ledger& rows = ledgers_[batch.table];
  std::vector<Key> keys;
  for (size_t i = client.random.Below(kKeysMax) + 1; i > 0; --i) {
    const bool own = client.random.Chance(0.3);
    keys.push_back(own ? OwnKey(client, client.random.Below(options_.own_keys))
                       : client.random.Below(rows.keys()));
  }
  // What is pushed in the same operation is seen by it.
  if (!batch.keys.empty()) keys.push_back(batch.keys[client.random.Below(batch.keys.size())]);
  NoteReads(keys, batch);
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto pushed = std::ranges::find(batch.keys, keys[i]);
    if (pushed == batch.keys.end()) continue;
    const uint32_t push = batch.numbers[static_cast<size_t>(pushed - batch.keys.begin())];
    batch.must[i][client.index] |= Ledger::Mask{1} << push;
  }
}

void Load::NoteReads(const std::vector<Key>& keys, Batch& batch) const {
  const Ledger& rows = ledgers_[batch.table];
  batch.read_keys = keys;
  for (const Key key : keys) {
    batch.floors.push_back(Shared(key) ? 0 : rows.Floor(key));
    batch.must.push_back(Shared(key) ? rows.Acked(key) : std::vector<Ledger::Mask>());
  }
  batch.out.resize(keys.size() * rows.dim());
}

void Load::Submit(Client& client) {
  auto batch = std::make_shared<Batch>();
  batch->table = client.random.Below(kTables);
  batch->power_losses = power_losses_;
  batch->ack = client.random.Chance(options_.other_ack) ? AckLevel::kLogged : AckLevel::kDefault;
  const uint64_t choice = client.random.Below(100);
  if (choice < 50) {
    batch->kind = choice < 38 ? OpKind::kUpdate : OpKind::kUpdateLookup;
    Push(client, *batch);
    if (batch->kind == OpKind::kUpdateLookup) Read(client, *batch);
  } else if (choice < 65) {
    batch->kind = choice < 62 ? OpKind::kAssign : OpKind::kErase;
    Write(client, *batch);
  } else {
    batch->kind = OpKind::kLookup;
    Read(client, *batch);
  }
  Operation operation;
  operation.kind = batch->kind;
  operation.ack = batch->ack;
  TablePart part;
  part.table = SpecOf(batch->table).id();
  part.keys = batch->kind == OpKind::kLookup ? batch->read_keys : batch->keys;
  if (batch->kind == OpKind::kUpdateLookup) part.then = batch->read_keys;
  part.in = batch->in;
  part.out = batch->out;
  operation.parts = {part};
  const bool hurried = client.random.Chance(options_.hurried);
  const TimeNs patience =
      hurried ? static_cast<TimeNs>(client.random.Below(static_cast<uint64_t>(kHurry))) + 1
              : kPatience;
  operation.deadline = cluster_.now() + patience;
  ++client.submitted;
  ++client.open;
  cluster_.client(client.index)
      .Submit(
          std::move(operation),
          [this, &client, batch](const Outcome& outcome) { End(client, *batch, outcome); },
          cluster_.now());
}

void Load::End(Client& client, const Batch& batch, const Outcome& outcome) {
  --client.open;
  ++counts_.operations;
  TakeStatus(client, outcome.status);
  if (batch.kind != OpKind::kLookup) EndWriteOf(client, batch, outcome);
  if (outcome.status.ok() && batch.power_losses == power_losses_) CheckRead(batch);
  const bool goes_on = client.submitted < options_.operations;
  if (client.leaves && client.open == 0 && goes_on) Leave(client);
  Fill(client);
}

void Load::TakeStatus(Client& client, const Status& status) {
  const bool may_rest = options_.rest_max > 0 && !client.rests;
  const auto rest = [&] {
    const auto most = static_cast<uint64_t>(options_.rest_max);
    if (may_rest) Rest(client, 1 + static_cast<TimeNs>(client.random.Below(most)));
  };
  switch (status.code()) {
    case StatusCode::kOk:
      if (may_rest && client.random.Chance(kLeaveOften)) {
        client.rests = client.leaves = true;
      } else if (may_rest && client.random.Chance(kRestOften)) {
        rest();
      }
      return;
    case StatusCode::kDeadlineExceeded:
    case StatusCode::kDiskFull:
    case StatusCode::kLost:
      return;
    case StatusCode::kRefused:  // there are too many clients
      if (options_.rest_max > 0) return rest();
      break;
    case StatusCode::kSessionExpired:
      if (may_rest) Replace(client);
      if (options_.rest_max > 0) return;
      break;
    default:
      break;
  }
  findings_.Add(&Findings::wrong, "an operation ended with " + status.ToString());
}

void Load::EndWriteOf(const Client& client, const Batch& batch, const Outcome& outcome) {
  ++(outcome.status.ok() ? counts_.acked : counts_.unknown);
  Ledger& rows = ledgers_[batch.table];
  for (size_t i = 0; i < batch.keys.size(); ++i) {
    const Key key = batch.keys[i];
    const uint16_t lane = cluster_.map().LaneOf(key);
    const auto said = std::ranges::find(outcome.lanes, uint32_t{lane}, &LaneStatus::lane);
    const bool synced = options_.ack == AckLevel::kSynced && batch.ack == AckLevel::kDefault;
    // The acknowledgement of a write that is only logged may have been overtaken by a loss of
    // power.
    const bool acked = said != outcome.lanes.end() && said->status.ok() &&
                       (synced || batch.power_losses == power_losses_);
    const Fate fate = acked ? Fate::kAcked : Fate::kUnknown;
    if (Shared(key)) {
      rows.EndPush(client.index, key, batch.numbers[i], fate, cluster_.now());
    } else {
      rows.EndWrite(key, batch.numbers[i], fate);
    }
    if (!acked || synced) continue;
    logged_.push_back({cluster_.now(), cluster_.map().lanes[lane].server, client.index, batch.table,
                       key, batch.numbers[i]});
  }
}

void Load::NotePowerLoss(uint16_t server, TimeNs since) {
  ++power_losses_;
  for (const Logged& logged : logged_) {
    if (logged.server != server || logged.at < since) continue;
    if (Shared(logged.key)) {
      ledgers_[logged.table].Doubt(logged.client, logged.key, logged.number);
    } else {
      ledgers_[logged.table].DoubtWrite(logged.key, logged.number);
    }
  }
  std::erase_if(logged_, [&](const Logged& logged) { return logged.server == server; });
  for (Ledger& ledger : ledgers_) {
    ledger.ForgetReads(
        [&](Key key) { return cluster_.map().lanes[cluster_.map().LaneOf(key)].server == server; });
  }
}

void Load::CheckRead(const Batch& batch) {
  Ledger& rows = ledgers_[batch.table];
  for (size_t i = 0; i < batch.read_keys.size(); ++i) {
    const Key key = batch.read_keys[i];
    const auto row = std::span(batch.out).subspan(i * rows.dim(), rows.dim());
    if (Shared(key)) {
      rows.CheckShared(key, row, batch.must[i], findings_);
    } else {
      rows.CheckOwn(key, row, batch.floors[i], findings_);
    }
  }
}

void Load::CheckEverything() {
  for (size_t table = 0; table < kTables; ++table) {
    std::vector<Key> keys;
    for (Key key = 0; key < options_.shared_keys; ++key) keys.push_back(key);
    for (const auto& client : clients_) {
      for (uint64_t n = 0; n < options_.own_keys; ++n) keys.push_back(OwnKey(*client, n));
    }
    ReadAll(table, keys);
  }
}

void Load::ReadAll(size_t table, const std::vector<Key>& keys) {
  Batch batch;
  batch.table = table;
  NoteReads(keys, batch);
  Operation operation;
  TablePart part;
  part.table = SpecOf(table).id();
  part.keys = batch.read_keys;
  part.out = batch.out;
  operation.parts = {part};
  const Outcome outcome = cluster_.SubmitAndRun(0, operation);
  if (!outcome.status.ok()) {
    return findings_.Add(&Findings::wrong, "the last read ended with " + outcome.status.ToString());
  }
  CheckRead(batch);
}

}  // namespace strata::sim
