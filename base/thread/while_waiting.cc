#include "base/thread/while_waiting.h"

#include <utility>

#include "strata/status.h"

namespace strata {
namespace {

thread_local std::function<void()> work_of_thread;
thread_local bool is_working = false;

}  // namespace

WhileWaiting::WhileWaiting(std::function<void()> work) {
  STRATA_CHECK(work_of_thread == nullptr);
  work_of_thread = std::move(work);
}

WhileWaiting::~WhileWaiting() { work_of_thread = nullptr; }

void DoWhileWaiting() {
  if (work_of_thread == nullptr || is_working) return;
  struct Reset {
    ~Reset() { is_working = false; }
  } reset;
  is_working = true;
  work_of_thread();
}

}  // namespace strata
