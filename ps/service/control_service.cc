#include "ps/service/control_service.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "base/log.h"
#include "base/out_of_memory.h"
#include "base/resident_memory.h"
#include "base/thread/thread.h"
#include "proto/control/control.pb.h"

namespace strata {
namespace {

constexpr size_t kRequestsMax = 1024;  // waiting; more are refused
constexpr TimeNs kReportTimeout = 2 * kSecond;
constexpr TimeNs kDrainPoll = 5 * kMillisecond;
constexpr TimeNs kIdlePoll = 10 * kSecond;
constexpr TimeNs kWarnEvery = 60 * kSecond;

// One table's counts over the lanes. Each lane takes part in a step, so steps are not added.
void Add(const LaneReport::Table& part, LaneReport::Table* table) {
  TableStats& whole = table->stats;
  whole.rows += part.stats.rows;
  whole.bytes += part.stats.bytes;
  whole.lookups += part.stats.lookups;
  whole.lookup_hits += part.stats.lookup_hits;
  whole.updates += part.stats.updates;
  whole.steps = std::max(whole.steps, part.stats.steps);
  whole.rejected += part.stats.rejected;
  whole.cold_rows += part.stats.cold_rows;
  whole.not_admitted += part.stats.not_admitted;
  whole.passed_down += part.stats.passed_down;
  for (size_t i = 0; i < kTiers; ++i) table->tiers[i] += part.tiers[i];
}

void Fill(const LaneReport::Table& report, control::TableStatus* table) {
  table->set_name(report.spec.name);
  table->set_dim(report.spec.dim);
  table->set_optimizer(std::string(OptimizerKindName(report.spec.optimizer.kind)));
  table->set_rows(report.stats.rows);
  table->set_bytes(report.stats.bytes);
  table->set_lookups(report.stats.lookups);
  table->set_lookup_hits(report.stats.lookup_hits);
  table->set_updates(report.stats.updates);
  table->set_steps(report.stats.steps);
  table->set_rejected(report.stats.rejected);
  table->set_cold_rows(report.stats.cold_rows);
  table->set_passed_down(report.stats.passed_down);
  for (size_t i = 0; i < kTiers; ++i) {
    if (!report.tiers[i].exists) continue;
    control::TierStatus* tier = table->add_tier();
    tier->set_name(std::string(TierName(static_cast<Tier>(i))));
    tier->set_rows(report.tiers[i].rows);
    tier->set_bytes(report.tiers[i].bytes);
    tier->set_hits(report.tiers[i].hits);
    tier->set_rows_in(report.tiers[i].rows_in);
    tier->set_bytes_in(report.tiers[i].bytes_in);
  }
}

void Fill(const LaneReport& lane, const LaneMetrics& metrics, control::LaneStatus* status) {
  const Recovery recovery = lane.recovery.value_or(Recovery{1, 1});
  status->set_recovered(static_cast<double>(recovery.bytes_done) /
                        static_cast<double>(std::max<uint64_t>(recovery.bytes_total, 1)));
  status->set_recovery_seconds(metrics.recovery_seconds.Value());
  status->set_log_bytes(lane.log_bytes);
  status->set_log_appended(lane.log_appended);
  status->set_log_synced(lane.log_synced);
  status->set_log_torn_bytes(static_cast<uint64_t>(metrics.torn_bytes.Value()));
  status->set_no_room(lane.no_room.message());
}

void Fill(const ServerTotals& totals, const LaneSet& lanes, const ServerIdentity& identity,
          control::ServerStatus* status) {
  status->set_lanes(static_cast<uint32_t>(lanes.threads.size()));
  status->set_shards(identity.shards);
  status->set_tables(static_cast<uint32_t>(totals.tables.size()));
  status->set_rows(totals.rows);
  status->set_table_bytes(totals.table_bytes);
  status->set_pulled_keys(totals.pulled_keys);
  status->set_pushed_keys(totals.pushed_keys);
  status->set_requests(totals.requests);
  status->set_queue_bytes(totals.parked_bytes);
  status->set_clients(static_cast<uint32_t>(totals.clients));
  for (const LaneReport::Table& table : totals.tables) Fill(table, status->add_table());
  status->set_data(identity.data);
  status->set_data_lost(lanes.data_lost());
  status->set_device(identity.device);
  for (size_t i = 0; i < totals.lanes.size(); ++i) {
    Fill(totals.lanes[i], *lanes.metrics[i], status->add_lane());
    status->mutable_lane()->rbegin()->set_lane(static_cast<uint32_t>(i));
  }
}

std::string_view StateOf(const LaneSet& lanes, const ServerTotals& totals) {
  if (!lanes.data_lost().empty()) return "data lost";
  if (lanes.AnyDraining()) return "draining";
  const bool recovering = std::ranges::any_of(
      totals.lanes, [](const LaneReport& lane) { return lane.recovery.has_value(); });
  return recovering ? "recovering" : "serving";
}

// From all lanes that know the client. kNotFound: none does.
Status Evict(const LaneSet& lanes, const std::string& id) {
  const std::optional<ClientId> client = ParseClientId(id);
  if (!client) {
    return Invalid(fmt::format("client '{}': expected an id of 32 hexadecimal digits", id));
  }
  Status outcome = NotFound(fmt::format("client {} has no place on this server", id));
  for (LaneThread* const lane : lanes.threads) {
    const Status evicted = lane->Evict(*client, kReportTimeout);
    if (evicted.code() == StatusCode::kNotFound) continue;
    if (!evicted.ok()) return evicted;
    outcome = {};
  }
  return outcome;
}

Frame ToFrame(const std::string& text) { return Frame::Copy(std::as_bytes(std::span(text))); }

}  // namespace

Result<ServerTotals> LaneSet::Totals(TimeNs timeout) const {
  ServerTotals totals;
  std::map<std::string, LaneReport::Table> tables;
  for (size_t i = 0; i < threads.size(); ++i) {
    Result<LaneReport> report = threads[i]->Report(timeout);
    if (!report.ok()) return report.status().Prefixed(fmt::format("lane {}", i));
    for (const LaneReport::Table& part : report->tables) {
      const auto [table, is_new] = tables.emplace(part.spec.name, part);
      if (!is_new) Add(part, &table->second);
      totals.rows += part.stats.rows;
      totals.cold_rows += part.stats.cold_rows;
      totals.rejected_rows += part.stats.rejected;
      totals.not_admitted_keys += part.stats.not_admitted;
      totals.passed_down[part.spec.name] += part.stats.passed_down;
      totals.table_bytes += part.stats.bytes;
    }
    totals.rejected_rows += report->past.rejected;
    totals.not_admitted_keys += report->past.not_admitted;
    for (const auto& [table, batches] : report->past.passed_down) {
      totals.passed_down[table] += batches;
    }
    for (const LaneReport::OfCollection& part : report->collections) {
      totals.collections[part.name] += part.stats;
    }
    totals.parked_bytes += report->parked_bytes;
    totals.clients = std::max<uint64_t>(totals.clients, report->clients);
    totals.pulled_keys += metrics[i]->pulled_keys.Value();
    totals.pushed_keys += metrics[i]->pushed_keys.Value();
    totals.requests += metrics[i]->Requests();
    totals.lanes.push_back(std::move(*report));
  }
  for (auto& [name, table] : tables) totals.tables.push_back(std::move(table));
  totals.memory_bytes = ResidentBytes();
  return totals;
}

void LaneSet::Drain(DrainReason reason) const {
  for (LaneThread* lane : threads) lane->Drain(reason);
}

bool LaneSet::AnyDraining() const {
  return std::ranges::any_of(threads, [](const LaneThread* lane) { return lane->draining(); });
}

bool LaneSet::AllDrained() const {
  return std::ranges::all_of(threads, [](const LaneThread* lane) { return lane->drained(); });
}

bool LaneSet::AnyDiskFull() const {
  return std::ranges::any_of(threads, [](const LaneThread* lane) { return lane->disk_full(); });
}

ControlService::ControlService(ServerIdentity identity, LaneSet lanes, Options options)
    : identity_(std::move(identity)), lanes_(std::move(lanes)), options_(std::move(options)) {}

ControlService::~ControlService() {
  Stop();
  Join();
}

Status ControlService::Start() {
  STRATA_ASSIGN(thread_, StartThread("control", [this] { Run(); }));
  return {};
}

void ControlService::Submit(Request request) {
  const MutexLock lock(mutex_);
  if (requests_.size() >= kRequestsMax || stopping_) return;  // the asker's deadline tells it
  requests_.push_back(std::move(request));
  changed_.NotifyOne();
}

void ControlService::Stop() {
  const MutexLock lock(mutex_);
  stopping_ = true;
  changed_.NotifyOne();
}

void ControlService::Join() {
  if (thread_.joinable()) thread_.join();
}

void ControlService::Run() {
  const MustAllocate must;  // it answers little, and there is nobody else to
  MutexLock lock(mutex_);
  while (!stopping_) {
    changed_.WaitFor(mutex_, draining_.empty() ? kIdlePoll : kDrainPoll, [this] {
      mutex_.AssumeHeld();
      return stopping_ || !requests_.empty();
    });
    std::vector<Request> requests;
    requests.swap(requests_);
    lock.Unlock();
    for (Request& request : requests) Handle(std::move(request));
    Finish();
    Warn();
    lock.Lock();
  }
}

void ControlService::Warn() {
  const TimeNs now = options_.clock->Now();
  if (options_.standing_warning.empty() || now < next_warning_) return;
  next_warning_ = now + kWarnEvery;
  Log(LogLevel::kWarning, "{}", options_.standing_warning);
}

void ControlService::Handle(Request request) {
  control::ControlRequest message;
  const std::span<const std::byte> bytes = request.payload[0].bytes();
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Reply(request, Invalid("the control request's bytes are no such protobuf message"), {});
  }
  switch (message.request_case()) {
    case control::ControlRequest::kStatus:
      return Reply(request, {}, {});
    case control::ControlRequest::kClients:
      return ReplyClients(request, message.clients().evict());
    case control::ControlRequest::kDrain:
    case control::ControlRequest::kShutdown: {
      const bool shutdown = message.has_shutdown();
      const uint32_t timeout_ms =
          shutdown ? message.shutdown().timeout_ms() : message.drain().timeout_ms();
      const TimeNs timeout = timeout_ms == 0 ? options_.drain_timeout : timeout_ms * kMillisecond;
      Log(LogLevel::kInfo, "{} asked for by client {}", shutdown ? "shutdown" : "drain",
          ToString(request.client()));
      lanes_.Drain(shutdown ? DrainReason::kEnds : DrainReason::kAsked);
      draining_.push_back({std::move(request), options_.clock->Now() + timeout, shutdown});
      return;
    }
    case control::ControlRequest::REQUEST_NOT_SET:
      return Reply(request,
                   Invalid("the control request asks for nothing that this version "
                           "knows; use matching versions of strata-admin and servers"),
                   {});
  }
}

void ControlService::Finish() {
  const bool drained = !draining_.empty() && lanes_.AllDrained();
  const TimeNs now = draining_.empty() ? 0 : options_.clock->Now();
  std::erase_if(draining_, [&](const Draining& waiting) {
    if (!drained && now < waiting.deadline) return false;
    // A shutdown goes on in any case: what still waits is answered with an error.
    const bool late = !drained && !waiting.shutdown;
    Reply(waiting.request,
          late ? DeadlineExceeded("new writes are refused, but requests still wait for a "
                                  "synchronous step to close; ask again, or shut the server down")
               : Status(),
          {});
    if (waiting.shutdown && options_.on_shutdown) options_.on_shutdown();
    return true;
  });
}

Result<std::vector<control::ClientStatus>> ControlService::Clients(const std::string& evict) const {
  if (!evict.empty()) STRATA_TRY(Evict(lanes_, evict));
  std::vector<control::ClientStatus> clients;
  for (size_t lane = 0; lane < lanes_.threads.size(); ++lane) {
    STRATA_ASSIGN(const std::vector<LaneClient> of_lane,
                  lanes_.threads[lane]->Clients(kReportTimeout));
    for (const LaneClient& one : of_lane) {
      control::ClientStatus& client = clients.emplace_back();
      client.set_lane(static_cast<uint32_t>(lane));
      client.set_id(ToString(one.id));
      client.set_connected(one.is_connected);
      client.set_idle_seconds(static_cast<double>(one.idle) / kSecond);
      client.set_pending(one.pending);
      client.set_unsettled(one.unsettled);
      client.set_credit(one.credit);
    }
  }
  return clients;
}

void ControlService::ReplyClients(const Request& request, const std::string& evict) {
  const Result<std::vector<control::ClientStatus>> clients = Clients(evict);
  if (clients.ok() && !evict.empty()) {
    Log(LogLevel::kInfo, "client {} was evicted, as client {} asked", evict,
        ToString(request.client()));
  }
  Reply(request, clients.status(), clients.ok() ? *clients : std::vector<control::ClientStatus>());
}

void ControlService::Reply(const Request& request, const Status& status,
                           const std::vector<control::ClientStatus>& clients) {
  Status outcome = status;
  control::ControlReply reply;
  if (outcome.ok()) {
    control::NodeStatus* node = reply.mutable_status();
    node->set_role("server");
    node->set_rank(identity_.rank);
    node->set_address(identity_.address);
    node->set_version(identity_.version);
    node->set_incarnation(identity_.incarnation);
    node->set_uptime_seconds(static_cast<double>(options_.clock->Now() - identity_.started) /
                             kSecond);
    node->set_http(identity_.http);
    node->set_pid(static_cast<uint32_t>(getpid()));
    const Result<ServerTotals> totals = lanes_.Totals(kReportTimeout);
    outcome = totals.status();
    if (totals.ok()) {
      node->set_state(std::string(StateOf(lanes_, *totals)));
      node->set_memory_bytes(totals->memory_bytes);
      Fill(*totals, lanes_, identity_, node->mutable_server());
      for (const control::ClientStatus& client : clients) {
        *node->mutable_server()->add_client() = client;
      }
    }
  }
  lanes_.threads[0]->Post(
      [to = request.reply_to(), outcome, incarnation = identity_.incarnation,
       frame = ToFrame(reply.SerializeAsString())](Lane& lane, std::vector<Envelope>* out) {
        wire::Header header = to.request;
        header.boot_nonce = lane.config().boot.nonce;
        out->push_back({to.peer, wire::MakeReply(header, incarnation, outcome, {frame})});
      });
}

}  // namespace strata
