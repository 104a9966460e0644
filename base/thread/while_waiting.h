// What a thread does while it waits for others in the middle of its work. The thread of a lane
// answers PINGs so, however deep in a table it waits for a disk.
#pragma once

#include <functional>

namespace strata {

// From its making to its end `work` is what the calling thread does in DoWhileWaiting. A thread has
// one at a time.
class WhileWaiting {
 public:
  explicit WhileWaiting(std::function<void()> work);
  ~WhileWaiting();
  WhileWaiting(const WhileWaiting&) = delete;
  WhileWaiting& operator=(const WhileWaiting&) = delete;
};

// Calls the calling thread's work, if it has some and is not in it already. For whoever waits for
// another thread or the disk: before each piece of a long wait, a few milliseconds apart or less.
void DoWhileWaiting();

}  // namespace strata
