// Tasks of a job, run within a test without showing anything.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "worker/tasks/tasks.h"

namespace strata {

// As TaskContext has them.
struct JobHooks {
  std::function<Status()> check = [] { return Status::Ok(); };
  std::function<bool()> is_unread = {};
  std::function<Status()> asked = [] { return Status::Ok(); };
};

inline Result<TaskResult> RunJob(Session& session, Task task, JobConfig job,
                                 const JobHooks& hooks = {}) {
  WorkerOptions options;
  options.task = task;
  options.job = std::move(job);
  StatusBoard board(RealClock());
  ProgressPrinter printer(RealClock(), nullptr, false, nullptr);
  return RunTask({.options = options,
                  .session = session,
                  .disk = RealDisk(),
                  .clock = RealClock(),
                  .board = board,
                  .printer = printer,
                  .check = hooks.check,
                  .is_unread = hooks.is_unread,
                  .asked = hooks.asked});
}

// The same by one worker, with new and empty tables in this process.
inline Result<TaskResult> RunJobAlone(Task task, const JobConfig& job, const JobHooks& hooks = {}) {
  STRATA_ASSIGN(const std::unique_ptr<Session> session, MakeEmbeddedSession(job));
  return RunJob(*session, task, job, hooks);
}

}  // namespace strata
