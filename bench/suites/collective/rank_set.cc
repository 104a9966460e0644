#include "bench/suites/collective/rank_set.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace strata::bench {
namespace {

constexpr const char* kFolder = STRATA_BENCH_RANKS;
constexpr const char* kPreload = STRATA_BENCH_PRELOAD;  // "" in a build with sanitizers
constexpr const char* kCongestionVariable = "STRATA_BENCH_CONGESTION";
constexpr int kMeetTimeoutMs = 60'000;
constexpr int kAnswerTimeoutMs = 120'000;
constexpr int kLookForEndEveryMs = 5;
constexpr TimeNs kEndTimeout = 10 * kSecond;

bool IsThere(const std::string& path) { return access(path.c_str(), X_OK) == 0; }
std::string PathOf(const RankProgram& program) {
  return fmt::format("{}/{}", kFolder, program.file);
}

bool Readable(int fd, int timeout_ms) {
  pollfd wait = {.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&wait, 1, timeout_ms) == 1;
}

// Only in a child, which becomes the program.
[[noreturn]] void Become(const std::vector<std::string>& words, const std::string& congestion) {
  if (!congestion.empty() && *kPreload != '\0') {
    setenv("LD_PRELOAD", kPreload, 1);
    setenv(kCongestionVariable, congestion.c_str(), 1);
  }
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);  // figures alone go there
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  _exit(127);
}

// Its ranks on this host inherit the environment.
std::vector<std::string> MpiLauncher(const char* transports) {
  return {"mpirun",
          "--allow-run-as-root",
          "--oversubscribe",
          "--bind-to",
          "none",
          "--mca",
          "pml",
          "ob1",
          "--mca",
          "btl",
          transports,
          "--mca",
          "btl_tcp_if_include",
          "lo"};
}

}  // namespace

RankProgram OurRanks(Transport transport) {
  return {.name = "ours",
          .file = "strata-bench-rank",
          .arguments = {transport == Transport::kMemory ? "memory" : "sockets"}};
}

RankProgram OurTlsRanks(const std::string& folder) {
  RankProgram program = OurRanks(Transport::kSockets);
  program.name = "ours over TLS";
  program.arguments.insert(program.arguments.end(),
                           {folder + "/certificate.pem", folder + "/key.pem"});
  return program;
}

std::vector<RankProgram> PeerRanks(Transport transport) {
  const auto mpi = [](const char* name, const char* transports) {
    return RankProgram{
        .name = name, .file = "strata-bench-rank-mpi", .launcher = MpiLauncher(transports)};
  };
  std::vector<RankProgram> programs;
  if (transport == Transport::kMemory) {
    programs = {mpi("Open MPI vader", "vader,self")};
  } else {
    programs = {mpi("Open MPI tcp", "tcp,self"),
                {.name = "gloo", .file = "strata-bench-rank-gloo"},
                {.name = "LightGBM's pattern", .file = "strata-bench-rank-pattern"}};
  }
  std::erase_if(programs, [](const RankProgram& program) { return !IsThere(PathOf(program)); });
  return programs;
}

Status CheckCongestion(const std::string& congestion) {
  if (congestion.empty()) return {};
  const OwnedFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (setsockopt(fd.get(), IPPROTO_TCP, TCP_CONGESTION, congestion.data(),
                 static_cast<socklen_t>(congestion.size())) == 0) {
    return {};
  }
  return Invalid(fmt::format(
      "--congestion={}: {}; see /proc/sys/net/ipv4/tcp_allowed_congestion_control for others",
      congestion, std::strerror(errno)));
}

Result<std::unique_ptr<RankSet>> RankSet::Start(const RankProgram& program, int world,
                                                const std::string& congestion) {
  STRATA_TRY(CheckCongestion(congestion));
  STRATA_ASSIGN(ScratchFolder folder, ScratchFolder::Make());
  std::unique_ptr<RankSet> set(new RankSet(program.name, std::move(folder)));
  Status status = set->Launch(program, world, congestion);
  if (status.ok()) status = set->Meet(world);
  if (!status.ok()) return status.Prefixed(program.name);
  return set;
}

RankSet::~RankSet() {
  ranks_.clear();  // they end when they have no master
  listener_ = OwnedFd();
  const TimeNs until = RealClock().Now() + kEndTimeout;
  for (const pid_t pid : pids_) {
    while (waitpid(pid, nullptr, WNOHANG) == 0) {
      if (RealClock().Now() > until) kill(pid, SIGKILL);
      poll(nullptr, 0, kLookForEndEveryMs);
    }
  }
}

Status RankSet::Launch(const RankProgram& program, int world, const std::string& congestion) {
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  const std::string path = folder_.path() + "/master";
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  listener_ = OwnedFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(listener_.get(), world) != 0) {
    return Failed(fmt::format("{}: {}", path, std::strerror(errno)));
  }
  const auto start = [&](std::vector<std::string> words) {
    const pid_t pid = fork();
    if (pid == 0) Become(words, congestion);
    if (pid > 0) pids_.push_back(pid);
    return pid > 0 ? Status() : Failed("no process");
  };
  if (!program.launcher.empty()) {
    std::vector<std::string> words = program.launcher;
    words.insert(words.end(), {"-np", std::to_string(world), PathOf(program), path});
    return start(std::move(words));
  }
  for (int r = 0; r < world; ++r) {
    std::vector<std::string> words = {PathOf(program), path, std::to_string(r),
                                      std::to_string(world)};
    words.insert(words.end(), program.arguments.begin(), program.arguments.end());
    STRATA_TRY(start(std::move(words)));
  }
  return {};
}

Status RankSet::Meet(int world) {
  ranks_.resize(static_cast<size_t>(world));
  std::vector<uint16_t> ports(ranks_.size());
  for (int met = 0; met < world; ++met) {
    if (!Readable(listener_.get(), kMeetTimeoutMs)) return Failed("not all ranks have started");
    OwnedFd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    RankHello hello;
    if (recv(fd.get(), &hello, sizeof hello, MSG_WAITALL) != sizeof hello || hello.rank < 0 ||
        hello.rank >= world) {
      return Failed("a rank died while it started");
    }
    const auto rank = static_cast<size_t>(hello.rank);
    ports[rank] = hello.port;
    ranks_[rank] = std::move(fd);
  }
  for (const OwnedFd& rank : ranks_) {
    const size_t bytes = ports.size() * sizeof ports[0];
    if (send(rank.get(), ports.data(), bytes, MSG_NOSIGNAL) != static_cast<ssize_t>(bytes)) {
      return Failed("a rank died while it started");
    }
  }
  return {};
}

Result<RankAnswer> RankSet::Do(const RankOrder& order) const {
  for (const OwnedFd& rank : ranks_) {
    if (send(rank.get(), &order, sizeof order, MSG_NOSIGNAL) != sizeof order) {
      return Failed(fmt::format("{}: a rank has died", name_));
    }
  }
  RankAnswer slowest;
  for (const OwnedFd& rank : ranks_) {
    RankAnswer answer;
    if (!Readable(rank.get(), kAnswerTimeoutMs) ||
        recv(rank.get(), &answer, sizeof answer, MSG_WAITALL) != sizeof answer) {
      return Failed(fmt::format("{}: a rank has died, or hangs", name_));
    }
    if (answer.outcome > slowest.outcome) {
      slowest.outcome = answer.outcome;
      std::ranges::copy(answer.text, slowest.text);
    }
    slowest.p50_us = std::max(slowest.p50_us, answer.p50_us);
    slowest.p99_us = std::max(slowest.p99_us, answer.p99_us);
    slowest.seconds = std::max(slowest.seconds, answer.seconds);
  }
  return slowest;
}

}  // namespace strata::bench
