#include "ps/net/inproc.h"

#include <fmt/format.h>

#include <atomic>
#include <deque>
#include <map>
#include <utility>

#include "base/thread/mutex.h"

namespace strata::net {
namespace {

constexpr std::string_view kScheme = "inproc://";

// One direction of a link, shared by both ends.
struct Direction {
  Direction(size_t most, std::shared_ptr<Bell> reader) : bytes_max(most), bell(std::move(reader)) {}

  const size_t bytes_max;
  const std::shared_ptr<Bell> bell;  // the reader's
  std::atomic<size_t> count = 0;     // of `messages`
  std::atomic<bool> closed = false;  // one of the two ends is gone
  Mutex mutex;
  std::deque<Message> messages STRATA_GUARDED_BY(mutex);
  size_t bytes STRATA_GUARDED_BY(mutex) = 0;
};

class InprocLink final : public Link {
 public:
  InprocLink(std::shared_ptr<Direction> in, std::shared_ptr<Direction> out)
      : in_(std::move(in)), out_(std::move(out)) {}
  ~InprocLink() override {
    in_->closed = true;
    out_->closed = true;
    out_->bell->RingIfListened();
  }

  Status Send(Message message) override {
    if (out_->closed) return Lost("the other end is gone");
    STRATA_TRY(CheckSendable(message));
    const size_t bytes = MessageBytes(message);
    {
      const MutexLock lock(out_->mutex);
      if (out_->bytes != 0 && out_->bytes + bytes > out_->bytes_max) {
        return QueueFull(out_->bytes, bytes, out_->bytes_max);
      }
      out_->messages.push_back(std::move(message));
      out_->bytes += bytes;
      ++out_->count;
    }
    out_->bell->RingIfListened();
    return {};
  }

  std::optional<Envelope> TryReceive() override {
    if (in_->count == 0) return {};
    const MutexLock lock(in_->mutex);
    Envelope envelope;
    envelope.message = std::move(in_->messages.front());
    envelope.is_checked = true;  // no byte has moved
    in_->messages.pop_front();
    in_->bytes -= MessageBytes(envelope.message);
    --in_->count;
    return envelope;
  }

  bool Flush() override { return true; }
  bool BeginSleep() override { return in_->count == 0 && !in_->closed; }
  void EndSleep() override {}
  Status ended() const override { return in_->closed ? Lost("the other end is gone") : Status(); }

 private:
  const std::shared_ptr<Direction> in_;
  const std::shared_ptr<Direction> out_;
};

// The names of this process.
struct Names {
  Mutex mutex;
  std::map<std::string, std::weak_ptr<InprocListener>> listeners STRATA_GUARDED_BY(mutex);
};

Names& TheNames() {
  static Names names;
  return names;
}

// Null when nobody has the name.
std::shared_ptr<InprocListener> FindListener(const std::string& endpoint) {
  const MutexLock lock(TheNames().mutex);
  const auto at = TheNames().listeners.find(endpoint);
  return at == TheNames().listeners.end() ? nullptr : at->second.lock();
}

}  // namespace

Result<std::shared_ptr<InprocListener>> InprocListener::Open(const std::string& endpoint,
                                                             size_t queue_bytes_max,
                                                             std::shared_ptr<Bell> bell) {
  if (!endpoint.starts_with(kScheme) || endpoint.size() == kScheme.size()) {
    return Invalid(fmt::format("'{}' is no endpoint; expected inproc://NAME", endpoint));
  }
  std::shared_ptr<InprocListener> listener(
      new InprocListener(endpoint, queue_bytes_max, std::move(bell)));
  const MutexLock lock(TheNames().mutex);
  std::weak_ptr<InprocListener>& entry = TheNames().listeners[endpoint];
  if (!entry.expired()) {
    return AlreadyExists(fmt::format("this process has {} already", endpoint));
  }
  entry = listener;
  return listener;
}

InprocListener::~InprocListener() {
  const MutexLock lock(TheNames().mutex);
  const auto at = TheNames().listeners.find(endpoint_);
  if (at != TheNames().listeners.end() && at->second.expired()) TheNames().listeners.erase(at);
}

std::vector<std::unique_ptr<Link>> InprocListener::Accept() {
  const MutexLock lock(mutex_);
  return std::exchange(dialled_, {});
}

bool IsListening(const std::string& endpoint) { return FindListener(endpoint) != nullptr; }

Result<std::unique_ptr<Link>> DialInproc(const std::string& endpoint, size_t queue_bytes_max,
                                         std::shared_ptr<Bell> bell) {
  const std::shared_ptr<InprocListener> listener = FindListener(endpoint);
  if (listener == nullptr) {
    return Lost(fmt::format("no server of this process is {}", endpoint));
  }
  auto up = std::make_shared<Direction>(queue_bytes_max, listener->bell_);
  auto down = std::make_shared<Direction>(listener->queue_bytes_max_, std::move(bell));
  {
    const MutexLock lock(listener->mutex_);
    listener->dialled_.push_back(std::make_unique<InprocLink>(up, down));
  }
  listener->bell_->Ring();
  return std::unique_ptr<Link>(std::make_unique<InprocLink>(down, up));
}

}  // namespace strata::net
