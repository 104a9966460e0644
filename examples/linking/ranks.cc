// ranks RENDEZVOUS WORLD RANK: one of some processes that sum what each of them has.
#include <strata/async_calls.h>
#include <strata/worker_group.h>

#include <cstdio>
#include <vector>

namespace {

strata::Status Run(char** argv) {
  STRATA_ASSIGN(const auto workers,
                strata::WorkerGroup::Join({.settings = {{"worker.rendezvous", argv[1]},
                                                        {"worker.world", argv[2]},
                                                        {"cluster.launcher", "none"},
                                                        {"rank", argv[3]}}}));
  std::vector<double> sums(1000, workers->group().rank() + 1);
  {
    strata::AsyncCalls calls(workers->group());
    const strata::PendingCall call = calls.Start([&](strata::Group& group) {
      return group.Allreduce(std::span(sums), strata::ReduceOp::kSum,
                             {.algorithm = strata::Algorithm::kRing});
    });
    STRATA_TRY(call.Wait(strata::kNever));  // what the caller does meanwhile comes before this
  }
  std::printf("rank %d of %d: sum %g\n", workers->group().rank(), workers->group().world(),
              sums[999]);
  return workers->Leave();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: ranks RENDEZVOUS WORLD RANK\n");
    return 2;
  }
  const strata::Status status = Run(argv);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return strata::ExitCode(status);
}
