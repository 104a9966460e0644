// LocalCheckpointer: checkpoints of a LocalStore, the store of a job without servers. The files are
// those of a cluster with one server of one lane.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file/disk.h"
#include "base/thread/mutex.h"
#include "storage/checkpoint/checkpointer.h"
#include "storage/memory/local_store.h"

namespace strata {

struct LocalCheckpointerOptions {
  Disk* disk = &RealDisk();
  std::string root = {};              // the folder of checkpoints; made when it is first needed
  uint32_t keep = 3;                  // the job's newest that stay, with all that they build on
  std::string job = {};               // for the manifest: what it is a checkpoint of
  const Clock* clock = &RealClock();  // judges deadlines
};

// Thread-safe; one call at a time runs, the others wait. `store` outlives it. Operations on the
// store go on during Save; Cut waits for those under way. Deadlines are looked at between pages.
std::unique_ptr<Checkpointer> MakeLocalCheckpointer(LocalStore& store,
                                                    LocalCheckpointerOptions options);

}  // namespace strata
