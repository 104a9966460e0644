// Links within a process: a message is handed over as the frames that it is, which both sides then
// own together; nothing is copied. Internal to ps/net.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/thread/mutex.h"
#include "ps/net/bell.h"
#include "ps/net/link.h"
#include "strata/status.h"

namespace strata::net {

// A name in this process under which links can be had. All members may be called from any thread.
class InprocListener {
 public:
  // `bell` is rung when somebody has dialled. kExists when the name is taken; kInvalid when it is
  // no "inproc://NAME".
  static Result<std::shared_ptr<InprocListener>> Open(const std::string& endpoint,
                                                      size_t queue_bytes_max,
                                                      std::shared_ptr<Bell> bell);
  ~InprocListener();
  InprocListener(const InprocListener&) = delete;
  InprocListener& operator=(const InprocListener&) = delete;

  // The listener's ends of the links that were dialled since the last call.
  std::vector<std::unique_ptr<Link>> Accept();

 private:
  friend Result<std::unique_ptr<Link>> DialInproc(const std::string& endpoint,
                                                  size_t queue_bytes_max,
                                                  std::shared_ptr<Bell> bell);
  InprocListener(std::string endpoint, size_t queue_bytes_max, std::shared_ptr<Bell> bell)
      : endpoint_(std::move(endpoint)), queue_bytes_max_(queue_bytes_max), bell_(std::move(bell)) {}

  const std::string endpoint_;
  const size_t queue_bytes_max_;
  const std::shared_ptr<Bell> bell_;
  Mutex mutex_;
  std::vector<std::unique_ptr<Link>> dialled_ STRATA_GUARDED_BY(mutex_);
};

// Whether somebody has that name now. Thread-safe.
bool IsListening(const std::string& endpoint);

// `bell` is rung when something comes while its owner listens. kLost when nobody has that name.
// Thread-safe.
Result<std::unique_ptr<Link>> DialInproc(const std::string& endpoint, size_t queue_bytes_max,
                                         std::shared_ptr<Bell> bell);

}  // namespace strata::net
