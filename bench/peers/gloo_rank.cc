// A rank of gloo over TCP on loopback: SOCKET RANK WORLD. Its ranks find one another in the folder
// of the socket, which is of this run alone. Each algorithm in gloo's asynchronous mode, and in its
// synchronous one where it has that. All calls are in place.
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/reduce_scatter.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/tcp/device.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>

#include "bench/peers/rank_orders.h"

namespace strata::bench {
namespace {

using ContextPtr = std::shared_ptr<gloo::rendezvous::Context>;

// What throws, with its text.
Status Caught(const std::function<void()>& body) {
  try {
    body();
    return {};
  } catch (const std::exception& error) {
    return Failed(error.what());
  }
}

class GlooCollectives final : public RankCollectives {
 public:
  // Pairs of the second context block in the calling thread.
  GlooCollectives(ContextPtr async, ContextPtr sync)
      : async_(std::move(async)), sync_(std::move(sync)) {}

  uint32_t variants(Collective operation) const override {
    switch (operation) {
      case Collective::kAllreduce:
        return 5;
      case Collective::kReduceScatter:
        return 2;
      case Collective::kAllgather:
      case Collective::kBroadcast:
        return 1;
      default:
        return 0;
    }
  }

  Status Prepare(const RankOrder& order, std::span<float> data) override {
    data_ = data;
    return Caught([&] { Choose(order); });
  }

  Status Call() override { return Caught(call_); }
  std::span<const float> Result() const override { return data_; }

 private:
  void Choose(const RankOrder& order) {
    using Way = gloo::AllreduceOptions::Algorithm;
    algorithm_.reset();
    switch (order.operation) {
      case Collective::kAllreduce:
        if (order.variant < 2) {
          call_ = [this, way = order.variant == 0 ? Way::RING : Way::BCUBE] { Allreduce(way); };
          return;
        }
        if (order.variant == 4) {
          algorithm_ =
              std::make_unique<gloo::AllreduceRingChunked<float>>(sync_, pointers(), count());
        } else {
          algorithm_ = std::make_unique<gloo::AllreduceHalvingDoubling<float>>(
              order.variant == 2 ? async_ : sync_, pointers(), count());
        }
        break;
      case Collective::kReduceScatter: {
        const std::vector<int> blocks(static_cast<size_t>(async_->size), count() / async_->size);
        algorithm_ = std::make_unique<gloo::ReduceScatterHalvingDoubling<float>>(
            order.variant == 0 ? async_ : sync_, pointers(), count(), blocks);
        break;
      }
      case Collective::kAllgather:
        call_ = [this] { Allgather(); };
        return;
      default:
        call_ = [this] { Broadcast(); };
        return;
    }
    call_ = [this] { algorithm_->run(); };
  }

  void Allreduce(gloo::AllreduceOptions::Algorithm way) {
    gloo::AllreduceOptions options(async_);
    options.setOutput(data_.data(), data_.size());
    options.setAlgorithm(way);
    options.setReduceFunction([](void* c, const void* a, const void* b, size_t count) {
      gloo::sum<float>(c, a, b, count);
    });
    gloo::allreduce(options);
  }
  void Allgather() {
    gloo::AllgatherOptions options(async_);
    options.setOutput(data_.data(), data_.size());
    gloo::allgather(options);
  }
  void Broadcast() {
    gloo::BroadcastOptions options(async_);
    options.setRoot(0);
    options.setOutput(data_.data(), data_.size());
    gloo::broadcast(options);
  }

  std::vector<float*> pointers() const { return {data_.data()}; }
  int count() const { return static_cast<int>(data_.size()); }

  const ContextPtr async_;
  const ContextPtr sync_;
  std::span<float> data_;
  std::unique_ptr<gloo::Algorithm> algorithm_;
  std::function<void()> call_;
};

ContextPtr Connect(int rank, int world, const std::string& folder, const char* prefix) {
  gloo::transport::tcp::attr address;
  address.iface = "lo";
  address.ai_family = AF_INET;
  std::shared_ptr<gloo::transport::Device> device = gloo::transport::tcp::CreateDevice(address);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, world);
  context->setTimeout(std::chrono::seconds(60));
  gloo::rendezvous::FileStore files(folder);
  gloo::rendezvous::PrefixStore store(prefix, files);
  context->connectFullMesh(store, device);
  return context;
}

Status Run(std::span<char*> arguments) {
  if (arguments.size() != 3) return Invalid("expected SOCKET RANK WORLD");
  const int rank = std::atoi(arguments[1]);
  const int world = std::atoi(arguments[2]);
  STRATA_ASSIGN(const RankMaster master, RankMaster::Reach(arguments[0]));
  const std::string folder = std::filesystem::path(arguments[0]).parent_path();
  ContextPtr async;
  ContextPtr sync;
  STRATA_TRY(Caught([&] {
    async = Connect(rank, world, folder, "async");
    sync = Connect(rank, world, folder, "sync");
    for (int r = 0; r < world; ++r) {
      if (r != rank) sync->getPair(r)->setSync(true, false);
    }
  }));
  STRATA_TRY(master.Meet({.rank = rank, .port = 0}, world).status());
  GlooCollectives collectives(async, sync);
  return master.Serve(rank, world, collectives);
}

}  // namespace
}  // namespace strata::bench

int main(int argc, char** argv) { return strata::bench::RankMain(argc, argv, strata::bench::Run); }
