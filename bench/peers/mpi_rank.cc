// A rank of Open MPI, started by its mpirun: SOCKET. All calls are in place.
#include <mpi.h>

#include "bench/peers/rank_orders.h"

namespace strata::bench {
namespace {

class MpiCollectives final : public RankCollectives {
 public:
  explicit MpiCollectives(int world) : world_(world) {}

  uint32_t variants(Collective operation) const override {
    switch (operation) {
      case Collective::kAllreduce:
      case Collective::kReduceScatter:
      case Collective::kAllgather:
      case Collective::kBroadcast:
        return 1;
      default:
        return 0;
    }
  }

  Status Prepare(const RankOrder& order, std::span<float> data) override {
    operation_ = order.operation;
    data_ = data;
    return {};
  }

  Status Call() override {
    const int count = static_cast<int>(data_.size());
    const int block = count / world_;
    int code = MPI_ERR_OP;
    if (operation_ == Collective::kAllreduce) {
      code = MPI_Allreduce(MPI_IN_PLACE, data_.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    } else if (operation_ == Collective::kReduceScatter) {
      code = MPI_Reduce_scatter_block(MPI_IN_PLACE, data_.data(), block, MPI_FLOAT, MPI_SUM,
                                      MPI_COMM_WORLD);
    } else if (operation_ == Collective::kAllgather) {
      code =
          MPI_Allgather(MPI_IN_PLACE, 0, MPI_FLOAT, data_.data(), block, MPI_FLOAT, MPI_COMM_WORLD);
    } else if (operation_ == Collective::kBroadcast) {
      code = MPI_Bcast(data_.data(), count, MPI_FLOAT, 0, MPI_COMM_WORLD);
    }
    return code == MPI_SUCCESS ? Status() : Failed("an MPI call failed");
  }

  // In place, the block of a reduce-scatter ends up in front.
  std::span<const float> Result() const override { return data_; }

 private:
  const int world_;
  Collective operation_ = Collective::kAllreduce;
  std::span<float> data_;
};

Status Run(std::span<char*> arguments) {
  if (arguments.size() != 1) return Invalid("expected SOCKET");
  int rank = 0;
  int world = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world);
  STRATA_ASSIGN(const RankMaster master, RankMaster::Reach(arguments[0]));
  STRATA_ASSIGN([[maybe_unused]] const auto ports, master.Meet({.rank = rank, .port = 0}, world));
  MpiCollectives collectives(world);
  return master.Serve(rank, world, collectives);
}

}  // namespace
}  // namespace strata::bench

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int code = strata::bench::RankMain(argc, argv, strata::bench::Run);
  MPI_Finalize();
  return code;
}
