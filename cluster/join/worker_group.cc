#include "strata/worker_group.h"

#include <utility>

#include "cluster/config_file.h"
#include "cluster/join/linked_group.h"

namespace strata {

struct WorkerGroup::Impl {
  std::unique_ptr<LinkedGroup> linked;
};

WorkerGroup::WorkerGroup(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WorkerGroup::~WorkerGroup() = default;

Result<std::unique_ptr<WorkerGroup>> WorkerGroup::Join(const WorkerGroupOptions& options) {
  STRATA_ASSIGN(const ClusterConfig config,
                ReadClusterConfig(options.config, options.settings, "WorkerGroupOptions"));
  STRATA_ASSIGN(const WorkerPlace place, FindPlace(config));
  STRATA_ASSIGN(auto linked, LinkedGroup::Join(config, place, options.job, {}));
  return std::unique_ptr<WorkerGroup>(
      new WorkerGroup(std::unique_ptr<Impl>(new Impl{std::move(linked)})));
}

Group& WorkerGroup::group() { return impl_->linked->group(); }
void WorkerGroup::Cancel(const Status& status) { impl_->linked->Cancel(status); }
Status WorkerGroup::Leave() { return impl_->linked->Close({}); }

}  // namespace strata
