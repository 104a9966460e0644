// Session: a worker's group and table store, in this process or in a cluster, from start to
// goodbye.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file/disk.h"
#include "base/thread/work_pool.h"
#include "cluster/cluster_config.h"
#include "cluster/collective/group.h"
#include "cluster/join/linked_group.h"
#include "ps/client/server_wait.h"
#include "storage/checkpoint/checkpointer.h"
#include "storage/table.h"
#include "strata/status.h"
#include "worker/job/job.h"

namespace strata {

// One thread, except Cancel.
class Session {
 public:
  virtual ~Session() = default;
  virtual Group& group() = 0;
  virtual TableStore& store() = 0;
  virtual int servers() const = 0;  // 0: embedded
  // Ends every wait, now and later, with this status. Any thread; the first status holds.
  virtual void Cancel(const Status& status) = 0;
  // Drops a table that a task leaves behind, even after Cancel; at most for about the shutdown
  // timeout. kNotFound when there is none, kLost when a server does not answer.
  virtual Status DropLeftover(const std::string& table) = 0;
  // Of the store, which it must not outlive. An embedded one keeps its files on `disk` in the job's
  // checkpoint.folder. kInvalid: the job names none.
  virtual Result<std::unique_ptr<Checkpointer>> OpenCheckpointer(const JobConfig& job,
                                                                 Disk& disk) = 0;
  // Tells the other workers how it ended; after success, waits until all of them have, at most for
  // the shutdown timeout. Returns the outcome, or the loss of a worker during that wait.
  virtual Status Close(const Status& outcome) = 0;
};

// Who a worker is. What does not change while the process lives.
struct WorkerIdentity {
  std::string job;
  std::string task;
  std::string address;  // of its link port; "" without one
  uint32_t rank = 0;
  uint32_t world = 1;
  WorkerPlace place = {};  // rank and world among them
};
// This worker's by machine list, flags and launcher; job and task are left empty. kInvalid when it
// has no place.
Result<WorkerIdentity> FindIdentity(const ClusterConfig& config);

struct SessionHooks {
  LinkHooks links = {};
  // What the job waits for, see RemoteStoreOptions::on_waits.
  std::function<void(std::vector<ServerWait>)> waits = {};
};

// Without servers; rows are where the job says. kNotFound, kRefused, kFailed: the GPU that it names
// is not there, or has not the memory.
// `threads` help with the rows of a table on the CPU, and outlive the session; null: none.
Result<std::unique_ptr<Session>> MakeEmbeddedSession(const JobConfig& job,
                                                     WorkPool* threads = nullptr);

// FindIdentity; kInvalid also when neither the list nor cluster.servers names servers.
Result<WorkerIdentity> FindWorkerIdentity(const ClusterConfig& config);

// What a job's RemoteStoreOptions say of threads.
struct StoreThreads {
  int copying = 1;
  int connections = 1;  // as many on all ranks
};

// Links up with the other workers, if the list names any, and connects to the servers. A lost
// worker also ends the waits on the servers, with a status that names it.
Result<std::unique_ptr<Session>> OpenClusterSession(const ClusterConfig& config,
                                                    const WorkerIdentity& identity,
                                                    const SessionHooks& hooks,
                                                    const StoreThreads& threads);

}  // namespace strata
