// Two ranks as on two machines: each in a network namespace with addresses of its own, over a pair
// of veth interfaces, by host names, IPv4 and IPv6, until somebody pulls the cable.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "cluster/collective/group.h"
#include "cluster/names/own_rank.h"
#include "tests/cluster/forked_ranks.h"
#include "tests/support/process.h"
#include "tests/support/temp_folder.h"

namespace strata {
namespace {

using ::testing::HasSubstr;

constexpr size_t kCount = 100'000;
constexpr int kCallsBeforeTheEnd = 20;

std::string IpProgram() {
  for (const char* path : {"/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip", "/bin/ip"}) {
    if (access(path, X_OK) == 0) return path;
  }
  return "";
}

// Runs `ip` with these words. Empty, or what went wrong.
std::string Ip(std::vector<std::string> words) {
  const ProcessResult run = RunProcess(IpProgram(), {.arguments = std::move(words)});
  return run.end == ProcessEnd{0} ? "" : fmt::format("ip: {}", run.errors);
}

// What a rank hands back.
struct Answer {
  int rank = -1;
  uint64_t bytes_over_veth = 0;
  StatusCode code = StatusCode::kOk;
  std::array<char, 512> message{};
  TimeNs ended_at = 0;
};

class Namespaces : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root may make network namespaces";
    if (IpProgram().empty()) GTEST_SKIP() << "there is no ip (iproute2)";
    for (const std::string& name : names_) {
      const std::string failure = Ip({"netns", "add", name});
      if (!failure.empty()) GTEST_SKIP() << failure;
      made_.push_back(name);
    }
    const std::string failure = Ip({"link", "add", "veth0", "netns", names_[0], "type", "veth",
                                    "peer", "name", "veth0", "netns", names_[1]});
    if (!failure.empty()) GTEST_SKIP() << failure;
    std::ofstream hosts(folder_.File("hosts"));
    hosts << "127.0.0.1 localhost\n";
    for (size_t i = 0; i < 2; ++i) {
      const std::string ipv4 = fmt::format("10.83.7.{}", i + 1);
      const std::string ipv6 = fmt::format("fd00:83::{}", i + 1);
      ASSERT_EQ(Ip({"-n", names_[i], "address", "add", ipv4 + "/24", "dev", "veth0"}), "");
      ASSERT_EQ(Ip({"-n", names_[i], "address", "add", ipv6 + "/64", "dev", "veth0", "nodad"}), "");
      ASSERT_EQ(Ip({"-n", names_[i], "link", "set", "lo", "up"}), "");
      ASSERT_EQ(Ip({"-n", names_[i], "link", "set", "veth0", "up"}), "");
      hosts << fmt::format("{} rank-{}.example\n{} rank-{}.v6.example\n", ipv4, i, ipv6, i);
    }
  }

  void TearDown() override {
    for (const std::string& name : made_) EXPECT_EQ(Ip({"netns", "delete", name}), "");
  }

  // This process moves to namespace `i`, where the names of the hosts file are known.
  void Enter(int i) {
    const OwnedFd space(
        open(("/run/netns/" + names_[static_cast<size_t>(i)]).c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(setns(space.get(), CLONE_NEWNET), 0) << std::strerror(errno);
    ASSERT_EQ(unshare(CLONE_NEWNS), 0) << std::strerror(errno);
    ASSERT_EQ(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    const std::string hosts = folder_.File("hosts");
    ASSERT_EQ(mount(hosts.c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr), 0)
        << std::strerror(errno);
  }

  static uint64_t BytesOverVeth() {
    std::ifstream devices("/proc/self/net/dev");
    for (std::string line; std::getline(devices, line);) {
      const size_t at = line.find("veth0:");
      if (at != std::string::npos) return std::stoull(line.substr(at + 6));
    }
    return 0;
  }

  // Finds out its rank by its addresses, links up and works; `at_the_end` comes after the calls.
  Answer Work(int space, const std::string& list_text, bool shared_memory,
              const std::function<Status(Links*, Group*)>& at_the_end) {
    Enter(space);
    Answer answer;
    const auto list = ParseMachineList(list_text, "list");
    EXPECT_TRUE(list.ok()) << list.status().ToString();
    const auto rank = DetectOwnRank(*list, Role::kWorker, std::nullopt, std::nullopt, kSecond);
    EXPECT_TRUE(rank.ok()) << rank.status().ToString();
    if (!rank.ok()) return answer;
    answer.rank = *rank;
    LinkOptions options;
    options.workers = list->Of(Role::kWorker);
    options.rank = *rank;
    options.cluster = "test";
    options.job = "namespaces";
    options.secret = "a secret";
    options.shared_memory = shared_memory;
    options.connect_timeout = 20 * kSecond;
    options.peer_lost_after = silence_;
    options.heartbeat_every = silence_ / 10;
    const auto links = Links::Listen(std::move(options));
    EXPECT_TRUE(links.ok()) << links.status().ToString();
    if (!links.ok()) return answer;
    Status status = (*links)->Connect();
    EXPECT_TRUE(status.ok()) << status.ToString();
    Group group(**links, {.timeout = 20 * kSecond});
    for (int call = 0; status.ok() && call < kCallsBeforeTheEnd; ++call) {
      std::vector<int64_t> data(kCount, *rank + 1);
      status = group.Allreduce(std::span(data), ReduceOp::kSum);
      for (const int64_t value : data) EXPECT_EQ(value, 3);
    }
    EXPECT_TRUE(status.ok()) << status.ToString();
    answer.bytes_over_veth = BytesOverVeth();
    status = at_the_end(links->get(), &group);
    answer.ended_at = RealClock().Now();
    answer.code = status.code();
    const std::string text = status.message().substr(0, answer.message.size() - 1);
    std::memcpy(answer.message.data(), text.data(), text.size());
    return answer;
  }

  void ExpectWork(const std::string& list, bool shared_memory) {
    const auto answers = InProcesses<Answer>(2, [&](int space) {
      return Work(space, list, shared_memory,
                  [](Links* links, Group*) { return links->Leave(20 * kSecond); });
    });
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(answers[i].rank, static_cast<int>(i));
      EXPECT_EQ(answers[i].code, StatusCode::kOk) << answers[i].message.data();
      const uint64_t bytes = kCallsBeforeTheEnd * kCount * sizeof(int64_t);
      if (shared_memory) {
        EXPECT_LT(answers[i].bytes_over_veth, bytes / 10);
      } else {
        EXPECT_GT(answers[i].bytes_over_veth, bytes);
      }
    }
  }

  TimeNs silence_ = 10 * kSecond;  // after which a rank is lost
  TempFolder folder_;
  const std::array<std::string, 2> names_ = {fmt::format("strata-{}-0", getpid()),
                                             fmt::format("strata-{}-1", getpid())};
  std::vector<std::string> made_;
};

TEST_F(Namespaces, ByHostNames) {
  ExpectWork("rank-0.example:7700 worker\nrank-1.example:7700 worker\n", false);
}

TEST_F(Namespaces, ByHostNamesOverIpv6) {
  ExpectWork("rank-0.v6.example:7700 worker\nrank-1.v6.example:7700 worker\n", false);
}

TEST_F(Namespaces, ByAddresses) { ExpectWork("10.83.7.1 7700\n10.83.7.2 7700\n", false); }

TEST_F(Namespaces, ByIpv6Addresses) {
  ExpectWork("[fd00:83::1]:7700 worker\n[fd00:83::2]:7700 worker\n", false);
}

// One kernel below both: the network is only needed to meet.
TEST_F(Namespaces, OfOneHostShareMemoryAllTheSame) {
  ExpectWork("rank-0.example:7700 worker\nrank-1.example:7700 worker\n", true);
}

// No FIN and no RST: each end is left with a connection that says nothing.
TEST_F(Namespaces, APulledCableIsNoticedAtBothEnds) {
  void* const memory = mmap(nullptr, sizeof(std::atomic<TimeNs>), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  silence_ = 2 * kSecond;
  auto* const pulled_at = new (memory) std::atomic<TimeNs>(0);
  const auto answers = InProcesses<Answer>(2, [&](int space) {
    return Work(space, "rank-0.example:7700 worker\nrank-1.example:7700 worker\n", false,
                [&](Links*, Group* group) {
                  if (space == 0) {
                    *pulled_at = RealClock().Now();
                    EXPECT_EQ(Ip({"link", "set", "veth0", "down"}), "");
                  }
                  std::vector<int64_t> data(kCount);
                  Status status;
                  while (status.ok()) status = group->Allreduce(std::span(data), ReduceOp::kSum);
                  return status;
                });
  });
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(answers[i].code, StatusCode::kLost);
    EXPECT_THAT(answers[i].message.data(), HasSubstr(fmt::format("rank {} (", 1 - i)));
    EXPECT_LT(answers[i].ended_at - *pulled_at, silence_ + 3 * kSecond);
  }
  munmap(memory, sizeof(std::atomic<TimeNs>));
}

}  // namespace
}  // namespace strata
