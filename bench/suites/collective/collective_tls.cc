#include "bench/suites/collective/collective_tls.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <optional>
#include <string>

#include "bench/harness/measure.h"
#include "bench/harness/scratch_folder.h"
#include "bench/suites/collective/collective_measure.h"
#include "bench/suites/collective/rank_set.h"

namespace strata::bench {
namespace {

constexpr int kWorld = 2;
constexpr uint64_t kSizes[] = {8, 4 << 10, 1 << 20, 16 << 20};

Status MakeCertificate(const std::string& folder) {
  const std::string command = fmt::format(
      "exec openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 "
      "-subj /CN=strata-bench -keyout {0}/key.pem -out {0}/certificate.pem >/dev/null 2>&1",
      folder);
  const pid_t pid = fork();
  if (pid == 0) {
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  int end = 0;
  if (pid < 0 || waitpid(pid, &end, 0) != pid || end != 0) {
    return Failed("openssl has made no certificate; is it installed?");
  }
  return {};
}

// Both contenders, started when they are needed.
class TlsField {
 public:
  Status Start(const std::string& congestion) {
    if (plain_ != nullptr) return {};
    STRATA_ASSIGN(ScratchFolder folder, ScratchFolder::Make());
    folder_.emplace(std::move(folder));
    STRATA_TRY(MakeCertificate(folder_->path()));
    STRATA_ASSIGN(tls_, RankSet::Start(OurTlsRanks(folder_->path()), kWorld, congestion));
    STRATA_ASSIGN(plain_, RankSet::Start(OurRanks(Transport::kSockets), kWorld, congestion));
    return {};
  }
  std::array<const RankSet*, 2> sets() const { return {tls_.get(), plain_.get()}; }

 private:
  std::optional<ScratchFolder> folder_;
  std::unique_ptr<RankSet> tls_;
  std::unique_ptr<RankSet> plain_;
};

Result<std::vector<Figure>> RunSize(TlsField& field, const std::string& name, uint64_t bytes,
                                    const BenchOptions& options) {
  STRATA_TRY(field.Start(options.congestion));
  const RankOrder asked = {
      .operation = Collective::kAllreduce, .variant = 0, .bytes = bytes, .calls = 1};
  std::array<RankOrder, 2> orders;
  for (size_t i = 0; i < orders.size(); ++i) {
    STRATA_ASSIGN(const auto order, Calibrated(*field.sets()[i], asked, options.round));
    orders[i] = order.value();
  }
  std::array<std::vector<double>, 2> p50;
  std::array<std::vector<double>, 2> p99;
  for (int round = 0; round < options.rounds; ++round) {
    for (size_t i = 0; i < orders.size(); ++i) {
      STRATA_ASSIGN(const RankAnswer answer, Done(*field.sets()[i], orders[i]));
      p50[i].push_back(answer.p50_us);
      p99[i].push_back(answer.p99_us);
    }
  }
  const auto figure = [&](const char* what, const std::array<std::vector<double>, 2>& values) {
    Figure made;
    made.name = fmt::format("{} {}", name, what);
    made.unit = "us";
    made.more_is_better = false;
    made.ours = Median(values[0]);
    made.peer = "without TLS";
    made.peer_value = Median(values[1]);
    return made;
  };
  return std::vector<Figure>{figure("p50", p50), figure("p99", p99)};
}

}  // namespace

std::vector<Case> TlsCases() {
  const auto field = std::make_shared<TlsField>();
  std::vector<Case> cases;
  for (const uint64_t bytes : kSizes) {
    const std::string name = fmt::format("tls allreduce n={} bytes={}", kWorld, bytes);
    cases.push_back(
        {name, [=](const BenchOptions& options) { return RunSize(*field, name, bytes, options); }});
  }
  return cases;
}

}  // namespace strata::bench
