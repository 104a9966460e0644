// A thread may have work that it does while it waits for others. A lane's thread answers PINGs this
// way while a table waits for a disk.
#pragma once

#include <functional>

namespace strata {

// While one exists, DoWhileWaiting calls `work` on the thread that made it. A thread has at most
// one.
class WhileWaiting {
 public:
  explicit WhileWaiting(std::function<void()> work);
  ~WhileWaiting();
  WhileWaiting(const WhileWaiting&) = delete;
  WhileWaiting& operator=(const WhileWaiting&) = delete;
};

// Calls the calling thread's work, if it has some and is not in it already. Whoever waits for
// another thread or the disk calls this before each piece of a long wait, where it can every few
// milliseconds.
void DoWhileWaiting();

}  // namespace strata
