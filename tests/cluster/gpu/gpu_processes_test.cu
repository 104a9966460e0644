// A group whose ranks are processes: inboxes are mapped across them, and a killed rank is an error.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "tests/cluster/gpu/gpu_oracle.cuh"
#include "tests/cluster/gpu/rank_threads.cuh"

namespace strata {
namespace {

constexpr int kPassed = 0;
constexpr int kSkipped = 77;
constexpr size_t kCount = 1000;

// Rank 0's bytes go through the pipe.
ShareBytes ThroughPipe(int rank, const std::array<int, 2>& pipe) {
  return [rank, pipe](std::span<std::byte> bytes) -> Status {
    const ssize_t done = rank == 0 ? write(pipe[1], bytes.data(), bytes.size())
                                   : read(pipe[0], bytes.data(), bytes.size());
    return done == static_cast<ssize_t>(bytes.size()) ? Status() : Lost("the pipe");
  };
}

bool AllreduceIsRight(GpuGroup& group, cudaStream_t stream) {
  DeviceArray<float> data(Elements<float>(9, group.rank(), kCount));
  const Status called = group.Allreduce(data.data(), data.data(), kCount, {}, stream);
  return called.ok() && group.Wait(stream).ok() &&
         data.Get() == ReducedElements<float>(ReduceOp::kSum, 9, 2, kCount);
}

// What a process does with its group; the exit code.
using Body = std::function<int(GpuGroup& group, cudaStream_t stream)>;

int RunRank(int rank, const std::array<int, 2>& pipe, const Body& body) {
  if (GpusHere() < 2) return kSkipped;
  if (cudaSetDevice(rank) != cudaSuccess) return 2;
  const Stream stream;
  GpuGroupOptions options;
  options.rank = rank;
  options.world = 2;
  options.device = rank;
  options.deadline = 5 * kSecond;
  Result<std::unique_ptr<GpuGroup>> group = GpuGroup::Make(options, ThroughPipe(rank, pipe));
  if (!group.ok()) {
    ADD_FAILURE() << group.status().ToString();
    return 3;
  }
  if ((*group)->peer_memory_bytes() == 0) return 4;
  return body(**group, stream.get());
}

// Exit codes of two processes, each a rank; they start before this one has touched CUDA, which does
// not survive a fork.
std::array<int, 2> RunProcesses(const Body& body) {
  std::array<int, 2> pipe_ends = {};
  EXPECT_EQ(pipe(pipe_ends.data()), 0);
  std::array<pid_t, 2> children = {};
  for (int rank = 0; rank < 2; ++rank) {
    children[static_cast<size_t>(rank)] = fork();
    if (children[static_cast<size_t>(rank)] == 0) _exit(RunRank(rank, pipe_ends, body));
  }
  std::array<int, 2> codes = {};
  for (size_t r = 0; r < 2; ++r) {
    int status = 0;
    EXPECT_EQ(waitpid(children[r], &status, 0), children[r]);
    codes[r] = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  return codes;
}

TEST(GpuProcessesTest, SmallAllreducesGoThroughMappedMemory) {
  const std::array<int, 2> codes = RunProcesses([](GpuGroup& group, cudaStream_t stream) {
    for (int i = 0; i < 200; ++i) {
      if (!AllreduceIsRight(group, stream)) return 5;
    }
    return kPassed;
  });
  if (codes[0] == kSkipped) GTEST_SKIP() << "needs 2 GPUs";
  EXPECT_EQ(codes, (std::array<int, 2>{kPassed, kPassed}));
}

TEST(GpuProcessesTest, AKilledRankIsAnErrorThatNamesIt) {
  const std::array<int, 2> codes = RunProcesses([](GpuGroup& group, cudaStream_t stream) {
    if (!AllreduceIsRight(group, stream)) return 5;
    if (group.rank() == 1) (void)raise(SIGKILL);
    DeviceArray<float> data(kCount);
    Status status = group.Allreduce(data.data(), data.data(), kCount, {}, stream);
    if (status.ok()) status = group.Wait(stream);
    const bool named = status.message().find("rank 1 did not come") != std::string::npos;
    if (!named) ADD_FAILURE() << status.ToString();
    return status.code() == StatusCode::kDeadlineExceeded && named ? kPassed : 6;
  });
  if (codes[0] == kSkipped) GTEST_SKIP() << "needs 2 GPUs";
  EXPECT_EQ(codes, (std::array<int, 2>{kPassed, 128 + SIGKILL}));
}

}  // namespace
}  // namespace strata
