// The workers of a cluster, as a group that calls collectives together.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "strata/group.h"
#include "strata/status.h"

namespace strata {

class LinkedGroup;

struct WorkerGroupOptions {
  std::string config = {};  // the path of a cluster.toml; empty: the settings' defaults
  // Settings that replace those of the file, by their full names and as a flag would have them:
  // {"cluster.machines", "machines.txt"}, {"rank", "2"}. docs/configuration.md lists them, and
  // docs/launching.md says how a worker finds its rank when nothing names it.
  std::map<std::string, std::string> settings = {};
  std::string job = "job";  // workers of one cluster and job meet
};

// One thread, except Cancel.
class WorkerGroup {
 public:
  // Returns once this worker is linked to the others; without others it is a group of one. kLost
  // names those that did not come in time; kRefused: another process claims this rank, or has
  // another secret or job; kInvalid names the setting that is wrong.
  static Result<std::unique_ptr<WorkerGroup>> Join(const WorkerGroupOptions& options);
  // Without Leave before it, the others count this rank as lost.
  ~WorkerGroup();

  Group& group();
  // Ends the group with this status here, and with one that names this rank elsewhere. Any thread.
  void Cancel(const Status& status);
  // The end of work that has succeeded: waits until all ranks have come to it.
  Status Leave();

 private:
  explicit WorkerGroup(std::unique_ptr<LinkedGroup> linked);
  std::unique_ptr<LinkedGroup> linked_;
};

}  // namespace strata
