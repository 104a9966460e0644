// Session: a worker's group and table store, in this process or in a cluster, from start to
// goodbye.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "cluster/cluster_config.h"
#include "cluster/collective/group.h"
#include "storage/table.h"

namespace strata {

// One thread, except Cancel.
class Session {
 public:
  virtual ~Session() = default;
  virtual Group& group() = 0;
  virtual TableStore& store() = 0;
  virtual int servers() const = 0;          // 0: embedded
  virtual std::string address() const = 0;  // of this worker's link port; "" without one
  // Ends every wait, now and later, with this status. Any thread; the first status holds.
  virtual void Cancel(const Status& status) = 0;
  // Tells the others how it ended and waits until they know, within the shutdown timeout.
  virtual void Close(const Status& outcome) = 0;
};

std::unique_ptr<Session> MakeEmbeddedSession();

// Finds this worker's place in the machine list, links up with the other workers and connects to
// the servers. `serialized_status` answers strata-admin, on any thread. A lost worker also ends the
// waits on the servers, with a status that names it.
Result<std::unique_ptr<Session>> OpenClusterSession(const ClusterConfig& config,
                                                    const std::string& job_name,
                                                    std::function<std::string()> serialized_status);

}  // namespace strata
