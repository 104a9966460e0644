#include "tests/soak/hostile/honest_load.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "tests/soak/table_calls.h"
#include "tests/support/wait_until.h"

namespace strata::soak {
namespace {

constexpr size_t kKeys = 64;
constexpr uint32_t kDim = 8;
constexpr TimeNs kPace = 4 * kMillisecond;
constexpr size_t kExamplesMax = 5;
constexpr float kExactBelow = 1U << 24;  // whole numbers that a float holds exactly

TableSpec TableOf(size_t client) { return SumTable(fmt::format("honest-{}", client), kDim); }

}  // namespace

Result<std::unique_ptr<HonestLoad>> HonestLoad::Start(const RemoteStoreOptions& options,
                                                      size_t clients) {
  std::unique_ptr<HonestLoad> load(new HonestLoad());
  for (size_t client = 0; client < clients; ++client) {
    RemoteStoreOptions of_client = options;
    of_client.shared_memory = client % 2 == 1;
    STRATA_ASSIGN(auto store, RemoteStore::Connect(of_client));
    STRATA_TRY(store->CreateTable(TableOf(client)));
    load->stores_.push_back(std::move(store));
  }
  for (size_t client = 0; client < clients; ++client) {
    load->threads_.emplace_back(
        [load = load.get(), client] { load->Loop(*load->stores_[client], TableOf(client)); });
  }
  return load;
}

HonestLoad::~HonestLoad() { is_stopping_ = true; }

HonestOutcome HonestLoad::Finish() {
  is_stopping_ = true;
  threads_.clear();
  const MutexLock lock(mutex_);
  return std::move(outcome_);
}

void HonestLoad::Note(const std::string& problem, uint64_t HonestOutcome::*count) {
  const MutexLock lock(mutex_);
  ++(outcome_.*count);
  if (outcome_.examples.size() < kExamplesMax) outcome_.examples.push_back(problem);
}

void HonestLoad::Loop(RemoteStore& store, const TableSpec& table) {
  std::vector<Key> keys;
  for (size_t i = 0; i < kKeys; ++i) keys.push_back(Mix64(i));
  const std::vector<float> gradients(kKeys * kDim, -1.0F);
  float sum = 0;
  const auto timed = [&](const auto& operation) {
    const TimeNs began = RealClock().Now();
    Status status = operation();
    const TimeNs took = RealClock().Now() - began;
    {
      const MutexLock lock(mutex_);
      ++outcome_.operations;
      outcome_.beside[period_].push_back(took);
    }
    if (!status.ok()) Note(status.ToString(), &HonestOutcome::refused);
    return status.ok();
  };
  while (!is_stopping_ && sum + 1 < kExactBelow) {
    const bool pushed = timed([&] { return PushRows(store, table, keys, gradients); });
    if (!pushed) return;  // what the rows hold is not known any more
    sum += 1;
    std::vector<float> rows;
    const bool pulled = timed([&]() -> Status {
      STRATA_ASSIGN(rows, PullRows(store, table, keys));
      return {};
    });
    if (pulled && rows != std::vector<float>(kKeys * kDim, sum)) {
      Note(fmt::format("{}: expected {} everywhere, found {} in the first row", table.name, sum,
                       rows[0]),
           &HonestOutcome::wrong);
    }
    WaitUntil([&] { return is_stopping_.load(); }, kPace);
  }
}

}  // namespace strata::soak
