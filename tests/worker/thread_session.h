// A session for one rank of a group of threads, for the tests of whole jobs.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "cluster/collective/group.h"
#include "storage/checkpoint/local_checkpointer.h"
#include "storage/memory/host_store.h"
#include "worker/tasks/session.h"

namespace strata {

// One rank of a group of threads; the tables are all ranks', the checkpoints rank 0's.
class ThreadSession final : public Session {
 public:
  ThreadSession(Exchanger& exchanger, TableStore& store, LocalStore& tables)
      : group_(exchanger), store_(store), tables_(tables) {}

  Group& group() override { return group_; }
  TableStore& store() override { return store_; }
  int servers() const override { return 1; }
  void Cancel(const Status& /*status*/) override {}
  Status DropLeftover(const std::string& table) override { return store_.DropTable(table); }
  Result<std::unique_ptr<Checkpointer>> OpenCheckpointer(const JobConfig& job,
                                                         Disk& disk) override {
    EXPECT_EQ(group_.rank(), 0);
    return MakeLocalCheckpointer(tables_, {.disk = &disk,
                                           .root = job.checkpoint.folder,
                                           .keep = job.checkpoint.keep,
                                           .job = job.name});
  }
  Status Close(const Status& outcome) override { return outcome; }

 private:
  Group group_;
  TableStore& store_;
  LocalStore& tables_;
};

}  // namespace strata
