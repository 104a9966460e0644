#include "tests/soak/service_check.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "ps/client/remote_store.h"
#include "tests/soak/table_calls.h"

namespace strata::soak {
namespace {

constexpr Key kKeys = 256;  // of all lanes

}  // namespace

Status ServiceCheck::Run() {
  STRATA_TRY(Admin({"ping"}));
  const TimeNs began = RealClock().Now();
  STRATA_TRY(PushAndPull().Prefixed("a new client"));
  longest_->Note(RealClock().Now() - began, "a new client's push and pull");
  STRATA_TRY(Admin({"checkpoint"}));
  return Admin({"verify", servers_->CheckpointsFolder()});
}

// The table is gone again afterwards: a job resumes only where there is none but its own.
Status ServiceCheck::PushAndPull() {
  const TableSpec table = SumTable("fresh", 1);
  STRATA_ASSIGN(const std::unique_ptr<RemoteStore> store, ConnectTo(*servers_, "soak fresh"));
  STRATA_TRY(store->CreateTable(table));
  std::vector<Key> keys;
  std::vector<float> gradients;
  for (Key key = 0; key < kKeys; ++key) {
    keys.push_back(key);
    gradients.push_back(-1.0F - static_cast<float>(key));
  }
  STRATA_TRY(PushRows(*store, table, keys, gradients));
  STRATA_ASSIGN(const std::vector<float> rows, PullRows(*store, table, keys));
  for (Key key = 0; key < kKeys; ++key) {
    const float expected = 1.0F + static_cast<float>(key);
    if (rows[key] == expected) continue;
    return Failed(fmt::format("key {} holds {} instead of {}", key, rows[key], expected));
  }
  return store->DropTable(table.name);
}

Process ServiceCheck::StartAdmin(std::vector<std::string> words) const {
  words.insert(words.begin(), "--config=" + servers_->config());
  return {ProgramPath("strata-admin"), {.arguments = std::move(words)}};
}

Result<ProcessEnd> ServiceCheck::AwaitEnd(Process& process, const std::string& name, TimeNs began) {
  const auto end = process.Wait(servers_->options().patience);
  longest_->Note(RealClock().Now() - began, name);
  if (end) return *end;
  return DeadlineExceeded(fmt::format("{} did not end within {} s: {}{}", name,
                                      servers_->options().patience / kSecond,
                                      Tail(process.Errors()), servers_->LastWords()));
}

Status ServiceCheck::Admin(std::vector<std::string> words) {
  const std::string name = "strata-admin " + words.front();
  const TimeNs began = RealClock().Now();
  Process process = StartAdmin(std::move(words));
  STRATA_ASSIGN(const ProcessEnd end, AwaitEnd(process, name, began));
  if (end == ProcessEnd{0}) return {};
  return Failed(Ended(name, process).message() + Tail(process.Output()));
}

}  // namespace strata::soak
