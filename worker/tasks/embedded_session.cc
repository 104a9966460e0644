#include <fmt/format.h>

#include <memory>
#include <utility>

#include "base/file/file_lock.h"
#include "base/file/output_file.h"
#include "cluster/collective/single_group.h"
#include "storage/checkpoint/local_checkpointer.h"
#include "storage/gpu/gpu_store.h"
#include "storage/memory/host_store.h"
#include "worker/tasks/session.h"

namespace strata {
namespace {

// Nothing here ever waits for anybody, so there is nothing to cancel and nobody to tell.
class EmbeddedSession final : public Session {
 public:
  explicit EmbeddedSession(std::unique_ptr<LocalStore> store) : store_(std::move(store)) {}

  Group& group() override { return group_; }
  TableStore& store() override { return *store_; }
  int servers() const override { return 0; }
  void Cancel(const Status& /*status*/) override {}
  Status DropLeftover(const std::string& table) override { return store_->DropTable(table); }
  Result<std::unique_ptr<Checkpointer>> OpenCheckpointer(const JobConfig& job,
                                                         Disk& disk) override {
    if (job.checkpoint.folder.empty()) {
      return Invalid(
          fmt::format("{}: checkpoint.folder is empty: name a folder for the checkpoints, "
                      "or set checkpoint.every_steps = 0",
                      job.file));
    }
    STRATA_TRY(WrongPath(job, "checkpoint.folder", disk.MakeFolder(job.checkpoint.folder)));
    auto lock = FileLock::Take(job.checkpoint.folder + "/lock");
    if (lock.status().code() == StatusCode::kRefused) {
      return lock.status().Prefixed("checkpoint.folder is used by one job at a time");
    }
    STRATA_TRY(WrongPath(job, "checkpoint.folder", lock.status()));
    lock_ = std::move(lock).value();
    STRATA_TRY(WrongPath(job, "checkpoint.folder", TryOutputFolder(disk, job.checkpoint.folder)));
    return MakeLocalCheckpointer(*store_, {.disk = &disk,
                                           .root = job.checkpoint.folder,
                                           .keep = job.checkpoint.keep,
                                           .job = job.name});
  }
  Status Close(const Status& outcome) override { return outcome; }

 private:
  SingleGroup group_;
  std::unique_ptr<LocalStore> store_;
  // Two jobs in one folder would take each other's numbers.
  std::unique_ptr<FileLock> lock_;
};

}  // namespace

Result<std::unique_ptr<Session>> MakeEmbeddedSession(const JobConfig& job, WorkPool* threads) {
  std::unique_ptr<LocalStore> store = MakeHostStore({.threads = threads});
  if (job.rows_on_gpu) {
    Result<std::unique_ptr<LocalStore>> on_gpu = MakeLocalGpuStore(
        {.device = job.device.ordinal.value_or(0), .memory_bytes = job.gpu_memory_bytes});
    if (!on_gpu.ok()) return on_gpu.status().Prefixed("sparse.placement").Prefixed(job.file);
    store = std::move(on_gpu).value();
  }
  return std::unique_ptr<Session>(std::make_unique<EmbeddedSession>(std::move(store)));
}

}  // namespace strata
