#include <fmt/format.h>

#include <semaphore>

#include "bench/harness/workload.h"
#include "bench/peers/own_server.h"
#include "bench/peers/service_peer.h"

namespace strata::bench {
namespace {

TableSpec SpecOf(uint32_t dim) {
  TableSpec spec;
  spec.name = fmt::format("bench{}", dim);
  spec.dim = dim;
  spec.optimizer.kind = OptimizerKind::kAdaGrad;
  return spec;
}

class OursClient final : public ServiceClient {
 public:
  explicit OursClient(std::unique_ptr<RemoteStore> store) : store_(std::move(store)) {}

  Status Run(const Load& load, uint64_t first, uint64_t count) override {
    std::vector<Slot> slots(load.depth);
    for (Slot& slot : slots) slot.rows.resize(load.batch * load.dim);
    Status status;
    for (uint64_t n = first; n < first + count && status.ok(); ++n) {
      Slot& slot = slots[n % load.depth];
      status = slot.Wait();
      if (!status.ok()) break;
      Submit(load, n, slot);
      if (load.latencies == nullptr) continue;
      status = slot.Wait();
      load.latencies->push_back(RealClock().Now() - slot.begin);
    }
    for (Slot& slot : slots) {
      const Status last = slot.Wait();
      if (status.ok()) status = last;
    }
    return status;
  }

 private:
  struct Slot {
    std::vector<float> rows;
    std::binary_semaphore done{0};
    bool open = false;
    Status status;
    TimeNs begin = 0;

    Status Wait() {
      if (!open) return {};
      done.acquire();
      open = false;
      return status;
    }
  };

  void Submit(const Load& load, uint64_t n, Slot& slot) {
    Operation operation;
    TablePart part{.table = SpecOf(load.dim).id(), .keys = load.Batch(n)};
    if (load.IsPull(n)) {
      operation.kind = OpKind::kLookup;
      part.out = slot.rows;
    } else {
      operation.kind = OpKind::kUpdate;
      operation.ack = load.logged ? AckLevel::kLogged : AckLevel::kApplied;
      part.in = load.floats;
    }
    operation.parts.push_back(part);
    slot.open = true;
    slot.begin = RealClock().Now();
    store_->Submit(std::move(operation), [&slot](Outcome outcome) {
      slot.status = std::move(outcome.status);
      slot.done.release();
    });
  }

  std::unique_ptr<RemoteStore> store_;
};

const char* NameOf(Transport transport) {
  switch (transport) {
    case Transport::kTcp:
      return "tcp";
    case Transport::kSharedMemory:
      return "shm";
    case Transport::kInproc:
      return "inproc";
  }
  return "";
}

// A server, and the store that fills it; its peers share it.
struct OwnServer {
  std::string name;
  std::unique_ptr<Server> server;
  std::unique_ptr<RemoteStore> store;
  uint32_t filled = 0;  // the dimension of the rows that it was filled with last
};

class OursPeer final : public ServicePeer {
 public:
  OursPeer(std::shared_ptr<OwnServer> own, Transport transport)
      : own_(std::move(own)), transport_(transport) {}

  std::string NameOf(Op) const override {
    return fmt::format("{}, {}", own_->name, bench::NameOf(transport_));
  }

  Status Fill(uint64_t rows, uint32_t dim) override {
    if (own_->filled == dim) return {};
    const TableSpec spec = SpecOf(dim);
    STRATA_TRY(own_->store->CreateTable(spec));
    own_->filled = dim;
    return FillRows(rows, dim, [&](std::span<const Key> keys, std::span<const float> values) {
      Operation operation;
      operation.kind = OpKind::kAssign;
      operation.ack = AckLevel::kApplied;
      operation.parts.push_back({.table = spec.id(), .keys = keys, .in = values});
      return SubmitAndWait(*own_->store, std::move(operation)).status;
    });
  }

  Result<std::unique_ptr<ServiceClient>> Connect() override {
    STRATA_ASSIGN(auto store, ConnectTo(*own_->server, transport_, own_->name));
    return std::unique_ptr<ServiceClient>(std::make_unique<OursClient>(std::move(store)));
  }

 private:
  const std::shared_ptr<OwnServer> own_;
  const Transport transport_;
};

}  // namespace

Result<Peers> StartOurs(const OursOptions& options) {
  auto own = std::make_shared<OwnServer>();
  own->name = options.name;
  ServerOptions of_server;
  of_server.data = options.data;
  of_server.inproc = options.data.empty() ? options.name : "";
  of_server.lanes_per_server = {options.lanes};
  of_server.tables.device = options.device;
  STRATA_ASSIGN(own->server, StartServer(std::move(of_server)));
  STRATA_ASSIGN(own->store, ConnectTo(*own->server));
  Peers peers;
  for (const Transport transport : options.transports) {
    peers.push_back(std::make_unique<OursPeer>(own, transport));
  }
  return peers;
}

}  // namespace strata::bench
