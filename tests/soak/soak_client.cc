#include "tests/soak/soak_client.h"

#include <fmt/format.h>

#include <utility>

#include "base/print.h"

namespace strata::soak {
namespace {

constexpr TimeNs kConnectTimeout = 20 * kSecond;
constexpr TimeNs kRequestTimeout = 60 * kSecond;
constexpr uint64_t kSyncedEvery = 8;
constexpr uint64_t kCheckSeenEvery = 32;
constexpr TimeNs kWait = 2 * kMillisecond;

OpKind KindOf(Action action) {
  switch (action) {
    case Action::kPush:
      return OpKind::kUpdate;
    case Action::kAssign:
      return OpKind::kAssign;
    case Action::kErase:
      return OpKind::kErase;
  }
  return OpKind::kUpdate;
}

// Nothing was changed, by the status's definition.
bool Refuses(StatusCode code) {
  return code == StatusCode::kDiskFull || code == StatusCode::kRefused;
}

// The connection is over, or the server is not the one that we made our table on.
bool Breaks(StatusCode code) {
  return code == StatusCode::kLost || code == StatusCode::kSessionExpired ||
         code == StatusCode::kNotFound || code == StatusCode::kCancelled;
}

}  // namespace

struct SoakClient::Flight {
  uint64_t op = 0;
  PlannedOp plan;
  Batch batch;  // of the operation; then of the pull behind it
};

SoakClient::SoakClient(SoakClientOptions options, const Load* load)
    : options_(std::move(options)),
      load_(load),
      history_(options_.history),
      page_(options_.page),
      next_op_(options_.first_op),
      session_(options_.session) {}

void SoakClient::Run() {
  while (page_->stop == 0) {
    if (store_ == nullptr && !Connect()) continue;
    bool may_submit = false;
    bool reconnect = false;
    {
      const MutexLock lock(mutex_);
      may_submit = !broken_ && !held_back_ && page_->paused == 0 && under_way_ < options_.window;
      reconnect = broken_ && under_way_ == 0;
      page_->idle = page_->paused != 0 && under_way_ == 0 ? 1 : 0;
    }
    if (reconnect) {
      store_.reset();
      ++session_;
    } else if (may_submit) {
      SubmitNext();
    } else {
      Wait();
    }
  }
  store_.reset();
}

bool SoakClient::Connect() {
  page_->idle = page_->paused.load();
  auto store = RemoteStore::Connect({.servers = options_.servers,
                                     .cluster_id = options_.cluster_id,
                                     .client_name = fmt::format("soak client {}", options_.client),
                                     .connect_timeout = kConnectTimeout,
                                     .request_timeout = kRequestTimeout,
                                     // How long a server may be away is judged apart.
                                     .server_lost_after = kRequestTimeout});
  Status status = store.status();
  if (status.ok()) status = (*store)->CreateTable(SoakTable());
  if (!status.ok()) {
    PrintStderr("session {}: {}\n", session_, status.ToString());
    return false;
  }
  history_.Write({.event = Event::kSession,
                  .client = static_cast<uint8_t>(options_.client),
                  .session = session_});
  const MutexLock lock(mutex_);
  broken_ = false;
  store_ = std::move(*store);
  return true;
}

void SoakClient::SubmitNext() {
  auto flight = std::make_shared<Flight>();
  flight->op = next_op_++;
  flight->plan = load_->Plan(options_.client, flight->op);
  flight->batch = load_->Build(options_.client, session_, flight->op);
  Operation operation;
  operation.kind = KindOf(flight->plan.action);
  operation.parts.resize(1);
  operation.parts[0].table = SoakTable().id();
  operation.parts[0].keys = flight->batch.keys;
  operation.parts[0].in = flight->batch.values;
  if (options_.synced && flight->op % kSyncedEvery == 0) operation.ack = AckLevel::kSynced;
  {
    const MutexLock lock(mutex_);
    ++under_way_;
  }
  history_.Write({.event = Event::kSubmitted,
                  .client = static_cast<uint8_t>(options_.client),
                  .session = session_,
                  .op = flight->op});
  RemoteStore* const store = store_.get();  // completions run while store_ is being reset, too
  store->Submit(std::move(operation),
                [this, store, flight](const Outcome& outcome) { Settle(*store, flight, outcome); });
}

void SoakClient::Settle(RemoteStore& store, const std::shared_ptr<Flight>& flight,
                        const Outcome& outcome) {
  Record record{.event = Event::kSettled,
                .client = static_cast<uint8_t>(options_.client),
                .code = static_cast<uint16_t>(outcome.status.code()),
                .session = session_,
                .op = flight->op};
  for (const LaneStatus& lane : outcome.lanes) {
    if (lane.status.ok()) record.acked |= 1U << lane.lane;
    if (Refuses(lane.status.code())) record.refused |= 1U << lane.lane;
  }
  history_.Write(record);
  if (outcome.status.ok()) {
    ++page_->acked;
    if (flight->op % kCheckSeenEvery == 0) return CheckSeen(store, flight);
  } else {
    PrintStderr("session {} op {}: {}\n", session_, flight->op, outcome.status.ToString());
    const MutexLock lock(mutex_);
    if (Breaks(outcome.status.code())) broken_ = true;
    held_back_ = Refuses(outcome.status.code());
  }
  Landed();
}

// A pull behind the acknowledgement must see the push on each lane.
void SoakClient::CheckSeen(RemoteStore& store, const std::shared_ptr<Flight>& flight) {
  std::vector<uint32_t> lanes;
  flight->batch = {};
  for (uint32_t lane = 0; lane < load_->lanes(); ++lane) {
    if ((flight->plan.lanes >> lane & 1U) == 0) continue;
    lanes.push_back(lane);
    flight->batch.keys.push_back(load_->OwnKey(options_.client, flight->op / kOpsPerRow, lane));
  }
  flight->batch.values.resize(lanes.size() * kDim);
  Operation pull;
  pull.parts.resize(1);
  pull.parts[0].table = SoakTable().id();
  pull.parts[0].keys = flight->batch.keys;
  pull.parts[0].out = flight->batch.values;
  store.Submit(std::move(pull), [this, flight, lanes](const Outcome& outcome) {
    Record record{.event = Event::kStale,
                  .client = static_cast<uint8_t>(options_.client),
                  .session = session_,
                  .op = flight->op};
    for (size_t i = 0; i < lanes.size() && outcome.status.ok(); ++i) {
      const float sum = flight->batch.values[i * kDim + ElementOf(flight->op)];
      if ((static_cast<uint32_t>(sum) >> (2 * DigitOf(flight->op)) & 3U) != 1) {
        record.acked |= 1U << lanes[i];
      }
    }
    if (record.acked != 0) history_.Write(record);
    Landed();
  });
}

void SoakClient::Landed() {
  {
    const MutexLock lock(mutex_);
    --under_way_;
  }
  changed_.NotifyOne();
}

void SoakClient::Wait() {
  const MutexLock lock(mutex_);
  changed_.WaitFor(mutex_, kWait);
  held_back_ = false;
}

}  // namespace strata::soak
