#include "tests/soak/checkpoint_loop.h"

#include <memory>

#include "base/print.h"
#include "ps/client/remote_checkpointer.h"
#include "ps/client/remote_store.h"
#include "tests/soak/client_page.h"

namespace strata::soak {
namespace {

constexpr TimeNs kTimeout = 8 * kSecond;  // of one checkpoint, under kills
constexpr uint64_t kFullEvery = 4;

Status TakeOne(RemoteStore& store, bool full) {
  RemoteCheckpointer checkpointer(store);
  const TimeNs deadline = RealClock().Now() + kTimeout;
  return CutAndSave(checkpointer, full, {}, deadline, deadline).status();
}

}  // namespace

void RunCheckpointLoop(const CheckpointLoopOptions& options) {
  const SharedPage page(options.page);
  std::unique_ptr<RemoteStore> store;
  for (uint64_t round = 0; page->stop == 0; ++round) {
    Status status;
    if (store == nullptr) {
      auto connected = RemoteStore::Connect({.servers = options.servers,
                                             .cluster_id = options.cluster_id,
                                             .client_name = "soak checkpoints",
                                             .connect_timeout = kTimeout});
      status = connected.status();
      if (status.ok()) store = std::move(*connected);
    }
    if (status.ok()) status = TakeOne(*store, round % kFullEvery == 0);
    if (status.ok()) {
      ++page->acked;
      continue;
    }
    PrintStderr("checkpoint: {}\n", status.ToString());
    if (status.code() == StatusCode::kLost) store.reset();
  }
}

}  // namespace strata::soak
