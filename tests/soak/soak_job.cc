#include "tests/soak/soak_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <utility>

#include "base/random.h"
#include "tests/support/wait_until.h"

namespace strata::soak {
namespace {

constexpr int kSamples = 1600;
constexpr TimeNs kNoticed = 2 * kSecond;  // until then a dead rank is an error on the others
constexpr const char* kJob = R"(
[data]
train = "train.csv"
columns = ["colour", "shape", "size", "bought"]
label = "bought"
label_positive = ["1"]
label_negative = ["0"]
[[feature]]
kind = "categorical"
columns = ["colour", "shape"]
[[feature]]
kind = "numeric"
columns = ["size"]
[model]
kind = "deepfm"
embedding_dim = 4
hidden = [8]
[train]
batch_size = 32
epochs = 4
[checkpoint]
every_steps = 6
)";

std::string GenerateSamples(uint64_t seed) {
  Random random(seed);
  std::string samples;
  for (int i = 0; i < kSamples; ++i) {
    const uint64_t colour = random.Below(200);
    const uint64_t shape = random.Below(50);
    const double size = random.Uniform();
    const bool bought = static_cast<double>(colour % 7 + shape % 3) / 8 + size > 1;
    samples += fmt::format("{},{},{:.4f},{}\n", colour, shape, size, bought ? 1 : 0);
  }
  return samples;
}

}  // namespace

SoakJob::SoakJob(const SoakServers* servers, ServiceCheck* check, uint64_t seed)
    : servers_(servers), check_(check), workers_(servers->options().workers) {
  WriteWholeFile(servers->File("train.csv"), GenerateSamples(seed));
  WriteWholeFile(servers->File("job.toml"), kJob);
}

void SoakJob::Begin(const std::string& name) {
  name_ = name;
  table_ = name + ".embedding";
}

void SoakJob::StartWorkers() {
  // A worker that had come to save its model leaves the next one another file name.
  std::filesystem::remove_all(servers_->File("model"));
  for (uint32_t rank = 0; rank < world(); ++rank) {
    if (workers_[rank] != nullptr && workers_[rank]->Running()) continue;
    ProcessOptions options{
        .arguments = {"--job=" + servers_->File("job.toml"), "--config=" + servers_->config(),
                      fmt::format("--rank={}", rank), "--json", "job.name=" + name_,
                      "output.model=" + servers_->File("model")}};
    workers_[rank] = std::make_unique<Process>(ProgramPath("strata-worker"), std::move(options));
  }
}

bool SoakJob::Running() {
  bool all = true;
  for (const auto& worker : workers_) all = all && worker->Running();
  return all;
}

Status SoakJob::AwaitLog(const std::string& text) {
  Process& first = *workers_.front();
  const bool in_time =
      WaitUntil([&] { return first.Errors().find(text) != std::string::npos || !Running(); },
                servers_->options().patience);
  if (in_time) return {};
  return DeadlineExceeded(fmt::format("worker 0 did not come to '{}' within {} s: {}", text,
                                      servers_->options().patience / kSecond,
                                      Tail(first.Errors())));
}

void SoakJob::Kill(uint32_t rank) { workers_[rank]->Signal(SIGKILL); }

Status SoakJob::CheckEnd(uint32_t rank) {
  const ProcessEnd end = *workers_[rank]->Wait();
  if (end.signal == 0 || end.signal == SIGKILL) return {};
  return Ended(fmt::format("worker {}", rank), *workers_[rank]);
}

Status SoakJob::AwaitEnds() {
  const TimeNs began = RealClock().Now();
  for (uint32_t rank = 0; rank < world(); ++rank) {
    const std::string name = fmt::format("worker {} behind a kill", rank);
    STRATA_TRY(check_->AwaitEnd(*workers_[rank], name, began).status());
    STRATA_TRY(CheckEnd(rank));
  }
  return {};
}

Status SoakJob::AwaitEndsOrGroup() {
  WaitUntil(
      [&] {
        return std::ranges::none_of(workers_, [](const auto& worker) { return worker->Running(); });
      },
      kNoticed);
  for (uint32_t rank = 0; rank < world(); ++rank) {
    if (!workers_[rank]->Running()) STRATA_TRY(CheckEnd(rank));
  }
  return {};
}

Result<std::string> SoakJob::AwaitSuccess() {
  const TimeNs began = RealClock().Now();
  for (uint32_t rank = 0; rank < world(); ++rank) {
    const std::string name = fmt::format("worker {} of a whole run", rank);
    STRATA_ASSIGN(const ProcessEnd end, check_->AwaitEnd(*workers_[rank], name, began));
    if (end != ProcessEnd{0}) return Ended(name, *workers_[rank]);
  }
  return workers_.front()->Output();
}

std::string SoakJob::Model() const {
  std::string bytes;
  for (const char* file : {"dense-1.bin", "features-1.bin", "sparse-1.bin"}) {
    const std::string path = servers_->File("model") + "/" + file;
    if (!std::filesystem::exists(path)) return {};
    bytes += ReadWholeFile(path);
  }
  return bytes;
}

}  // namespace strata::soak
