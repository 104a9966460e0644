// A rank of ours: SOCKET RANK WORLD TRANSPORT [CERTIFICATE KEY]. The transport is "sockets" or
// "memory"; with the two others, over TLS among those who have the same certificate, which signs
// itself.
#include <cstdlib>
#include <string_view>

#include "bench/peers/rank_orders.h"
#include "cluster/collective/group.h"
#include "cluster/link/links.h"
#include "cluster/tls/tls_context.h"

namespace strata::bench {
namespace {

// Variant 0 is what the table chooses, v > 0 the v-th algorithm of the operation.
class OurCollectives final : public RankCollectives {
 public:
  explicit OurCollectives(Group& group) : group_(group) {}

  uint32_t variants(Collective operation) const override {
    return static_cast<uint32_t>(AlgorithmsOf(operation).size()) + 1;
  }

  Status Prepare(const RankOrder& order, std::span<float> data) override {
    order_ = order;
    data_ = data;
    result_ = data;
    options_.algorithm.reset();
    if (order.variant > 0) options_.algorithm = AlgorithmsOf(order.operation)[order.variant - 1];
    if (order.operation == Collective::kAllToAll) {
      out_.assign(data.size(), 0);
      result_ = out_;
    }
    return {};
  }

  Status Call() override {
    switch (order_.operation) {
      case Collective::kAllreduce:
        return group_.Allreduce(data_, ReduceOp::kSum, options_);
      case Collective::kReduce:
        return group_.Reduce(data_, ReduceOp::kSum, 0, options_);
      case Collective::kReduceScatter: {
        STRATA_ASSIGN(result_, group_.ReduceScatter(data_, ReduceOp::kSum, {}, options_));
        return {};
      }
      case Collective::kAllgather:
        return group_.Allgather(data_, {}, options_);
      case Collective::kBroadcast:
        return group_.Broadcast(data_, 0, options_);
      case Collective::kAllToAll:
        return group_.AllToAll(std::span<const float>(data_), std::span(out_), {}, {}, options_);
      case Collective::kGather:
      case Collective::kScatter:
      case Collective::kBarrier:
        break;
    }
    return Invalid("not measured");
  }

  std::span<const float> Result() const override { return result_; }

 private:
  Group& group_;
  RankOrder order_;
  CallOptions options_;
  std::span<float> data_;
  std::span<const float> result_;
  std::vector<float> out_;
};

Status Run(std::span<char*> arguments) {
  if (arguments.size() != 4 && arguments.size() != 6) {
    return Invalid("expected SOCKET RANK WORLD TRANSPORT [CERTIFICATE KEY]");
  }
  const int rank = std::atoi(arguments[1]);
  const int world = std::atoi(arguments[2]);
  STRATA_ASSIGN(const RankMaster master, RankMaster::Reach(arguments[0]));
  STRATA_ASSIGN(Listener listener, OpenListener("127.0.0.1", 0, kSecond));
  STRATA_ASSIGN(const auto ports, master.Meet({.rank = rank, .port = listener.port}, world));
  LinkOptions options;
  options.rank = rank;
  options.cluster = "bench";
  options.job = "collective";
  options.shared_memory = std::string_view(arguments[3]) == "memory";
  if (arguments.size() == 6) {
    STRATA_ASSIGN(
        options.tls,
        TlsContext::Load({.certificate = arguments[4], .key = arguments[5], .ca = arguments[4]}));
  }
  for (int r = 0; r < world; ++r) {
    Machine machine;
    machine.host = "127.0.0.1";
    machine.port = ports[static_cast<size_t>(r)];
    machine.rank = r;
    options.workers.push_back(machine);
  }
  STRATA_ASSIGN(const auto links, Links::Listen(std::move(options), std::move(listener)));
  STRATA_TRY(links->Connect());
  Group group(*links);
  OurCollectives collectives(group);
  STRATA_TRY(master.Serve(rank, world, collectives));
  return links->Leave(5 * kSecond);
}

}  // namespace
}  // namespace strata::bench

int main(int argc, char** argv) { return strata::bench::RankMain(argc, argv, strata::bench::Run); }
