#include "strata/worker_group.h"

#include <utility>

#include "cluster/config_file.h"
#include "cluster/join/linked_group.h"

namespace strata {

WorkerGroup::WorkerGroup(std::unique_ptr<LinkedGroup> linked) : linked_(std::move(linked)) {}
WorkerGroup::~WorkerGroup() = default;

Result<std::unique_ptr<WorkerGroup>> WorkerGroup::Join(const WorkerGroupOptions& options) {
  STRATA_ASSIGN(const ClusterConfig config,
                ReadClusterConfig(options.config, options.settings, "WorkerGroupOptions"));
  STRATA_ASSIGN(const WorkerPlace place, FindPlace(config));
  STRATA_ASSIGN(auto linked, LinkedGroup::Join(config, place, options.job, {}));
  return std::unique_ptr<WorkerGroup>(new WorkerGroup(std::move(linked)));
}

Group& WorkerGroup::group() { return linked_->group(); }
void WorkerGroup::Cancel(const Status& status) { linked_->Cancel(status); }
Status WorkerGroup::Leave() { return linked_->Close({}); }

}  // namespace strata
