#include "ps/net/zmq_socket.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <limits>

#include "proto/wire/header.h"

namespace strata::net {
namespace {

// Frames up to this size are copied: cheaper than an allocation and a call back from ZeroMQ.
constexpr size_t kCopyBytesMax = 512;
// Header and payload, and one more that shows that there were too many.
constexpr size_t kFramesKept = wire::kFramesMax + 2;

struct SentFrame {
  Frame frame;
  std::shared_ptr<QueuedBytes> queued;
  // States the order of the hand-over to ZeroMQ's thread in the language's terms: what ZeroMQ does
  // for it inside is nothing that the compiler or a race detector knows of.
  std::atomic<bool> handed_over = false;
};

// Called by ZeroMQ, on one of its threads, once it no longer needs the bytes.
void ReleaseSentFrame(void*, void* hint) {
  auto* sent = static_cast<SentFrame*>(hint);
  STRATA_CHECK(sent->handed_over.load(std::memory_order_acquire));
  sent->queued->fetch_sub(sent->frame.size(), std::memory_order_relaxed);
  delete sent;
}

Status SendFrame(void* socket, const Frame& frame, const std::shared_ptr<QueuedBytes>& queued,
                 bool more) {
  zmq_msg_t message;
  if (frame.size() <= kCopyBytesMax) {
    if (zmq_msg_init_size(&message, frame.size()) != 0) {
      return Failed("out of memory for a message to send");
    }
    std::copy_n(frame.bytes().data(), frame.size(),
                static_cast<std::byte*>(zmq_msg_data(&message)));
  } else {
    queued->fetch_add(frame.size(), std::memory_order_relaxed);
    auto* sent = new SentFrame{.frame = frame, .queued = queued};
    sent->handed_over.store(true, std::memory_order_release);
    // ZeroMQ's interface is not const-correct; it only reads what it sends.
    auto* bytes = const_cast<std::byte*>(sent->frame.bytes().data());
    if (zmq_msg_init_data(&message, bytes, sent->frame.size(), ReleaseSentFrame, sent) != 0) {
      ReleaseSentFrame(nullptr, sent);
      return Failed("out of memory for a message to send");
    }
  }
  while (zmq_msg_send(&message, socket, ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0)) < 0) {
    const int error = zmq_errno();
    if (error == EINTR) continue;
    zmq_msg_close(&message);
    if (error == EAGAIN) return Refused("the peer's send queue is full");
    if (error == EHOSTUNREACH) return Lost("the peer's connection is gone");
    return Failed(fmt::format("cannot send: {}", zmq_strerror(error)));
  }
  return {};
}

struct ReceivedFrame {
  zmq_msg_t message;
  ReceivedFrame() { zmq_msg_init(&message); }
  ~ReceivedFrame() { zmq_msg_close(&message); }
  ReceivedFrame(const ReceivedFrame&) = delete;
  ReceivedFrame& operator=(const ReceivedFrame&) = delete;
  std::span<const std::byte> bytes() {
    return {static_cast<const std::byte*>(zmq_msg_data(&message)), zmq_msg_size(&message)};
  }
};

Status SetOptions(void* socket, SocketKind kind, const ZmqPortOptions& options) {
  const auto linger_ms = static_cast<int>(options.linger / kMillisecond);
  struct IntOption {
    int name;
    int value;
  };
  const IntOption common[] = {
      {ZMQ_HANDSHAKE_IVL, kHandshakeMs},
      {ZMQ_HEARTBEAT_IVL, kHeartbeatMs},
      {ZMQ_HEARTBEAT_TIMEOUT, kHeartbeatTimeoutMs},
      {ZMQ_LINGER, linger_ms},
      {ZMQ_BACKLOG, kBacklog},
      {ZMQ_IPV6, 1},
      {ZMQ_SNDHWM, kMessagesQueuedMax},
      {ZMQ_RCVHWM, kMessagesQueuedMax},
  };
  const IntOption router[] = {{ZMQ_ROUTER_MANDATORY, 1}};
  // With ZMQ_IMMEDIATE a socket also forgets what it has not handed out when a connection breaks.
  const IntOption dealer[] = {{ZMQ_IMMEDIATE, options.keep_last_reply ? 0 : 1},
                              {ZMQ_CONNECT_TIMEOUT, kConnectTimeoutMs},
                              {ZMQ_RECONNECT_IVL_MAX, kReconnectMaxMs}};
  const auto set = [socket](std::span<const IntOption> list) {
    return std::ranges::all_of(list, [socket](const IntOption& option) {
      return zmq_setsockopt(socket, option.name, &option.value, sizeof option.value) == 0;
    });
  };
  const bool done =
      zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &kFrameBytesMax, sizeof kFrameBytesMax) == 0 &&
      set(common) && (kind == SocketKind::kRouter ? set(router) : set(dealer));
  if (!done)
    return Failed(fmt::format("cannot set a socket option: {}", zmq_strerror(zmq_errno())));
  return {};
}

// ZeroMQ puts flags and a length before each frame: 2 bytes, or 9 when it has more than 255.
void NoteFrame(zmq_msg_t* frame, MessageSource* source) {
  const size_t size = zmq_msg_size(frame);
  source->bytes += size + (size <= 255 ? 2 : 9);
  if (source->descriptor < 0) source->descriptor = zmq_msg_get(frame, ZMQ_SRCFD);
}

}  // namespace

Result<std::unique_ptr<ZmqSocket>> ZmqSocket::Open(std::shared_ptr<ZmqContext> context,
                                                   SocketKind kind, const ZmqPortOptions& options) {
  void* handle =
      zmq_socket(context->handle(), kind == SocketKind::kRouter ? ZMQ_ROUTER : ZMQ_DEALER);
  if (handle == nullptr) {
    return Failed(fmt::format("cannot open a socket: {}. Raise the limit of open files (ulimit -n)",
                              zmq_strerror(zmq_errno())));
  }
  std::unique_ptr<ZmqSocket> socket(new ZmqSocket(std::move(context), handle));
  STRATA_TRY(SetOptions(handle, kind, options));
  return socket;
}

ZmqSocket::~ZmqSocket() { zmq_close(handle_); }

Status ZmqSocket::Send(const std::string* route, const Message& message,
                       const std::shared_ptr<QueuedBytes>& queued) {
  if (route != nullptr) {
    STRATA_TRY(SendFrame(handle_, Frame::Copy(std::as_bytes(std::span(*route))), queued, true));
  }
  // Only the first part can find the queue full or the route gone: ZeroMQ takes or drops a message
  // as a whole.
  for (size_t i = 0; i < message.size(); ++i) {
    STRATA_TRY(SendFrame(handle_, message[i], queued, i + 1 < message.size()));
  }
  return {};
}

Result<std::optional<Envelope>> ZmqSocket::TryReceive(bool with_route, MessageSource* source) {
  Envelope envelope;
  bool route_next = with_route;
  bool more = true;
  for (bool first = true; more; first = false) {
    auto part = std::make_shared<ReceivedFrame>();
    while (zmq_msg_recv(&part->message, handle_, ZMQ_DONTWAIT) < 0) {
      const int error = zmq_errno();
      if (error == EINTR) continue;
      if (error == EAGAIN && first) return std::optional<Envelope>();
      return Failed(fmt::format("cannot receive: {}", zmq_strerror(error)));
    }
    more = zmq_msg_more(&part->message) != 0;
    const std::span<const std::byte> bytes = part->bytes();
    if (route_next) {
      envelope.peer.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      route_next = false;
      continue;
    }
    if (source != nullptr) NoteFrame(&part->message, source);
    if (envelope.message.size() < kFramesKept) {
      envelope.message.emplace_back(std::move(part), bytes);
    }
  }
  return std::optional<Envelope>(std::move(envelope));
}

Status CheckSendable(const Message& message) {
  if (message.empty() || message.size() > wire::kFramesMax + 1) {
    return Invalid(fmt::format("a message has 1 to {} frames, this one has {}",
                               wire::kFramesMax + 1, message.size()));
  }
  const size_t bytes = MessageBytes(message);
  if (bytes > static_cast<size_t>(kFrameBytesMax)) {
    return Invalid(fmt::format("a message of {} bytes is above the limit of {}; split the batch",
                               bytes, kFrameBytesMax));
  }
  return {};
}

Status QueueFull(size_t queued, size_t bytes, size_t limit) {
  return Refused(
      fmt::format("{} bytes wait to be sent to the peer; {} more are above the limit of {}", queued,
                  bytes, limit));
}

WakeEvent::WakeEvent() : descriptor_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)), error_(errno) {}

WakeEvent::~WakeEvent() {
  if (descriptor_ >= 0) close(descriptor_);
}

Status WakeEvent::status() const {
  if (descriptor_ >= 0) return {};
  const bool too_many = error_ == EMFILE || error_ == ENFILE;
  return Failed(fmt::format("cannot make an event descriptor: {}{}", std::strerror(error_),
                            too_many ? "; raise the limit of open files (ulimit -n)" : ""));
}

void WakeEvent::Raise() {
  const uint64_t one = 1;
  // A full counter means that the event is raised already.
  [[maybe_unused]] const ssize_t written = write(descriptor_, &one, sizeof one);
}

void WakeEvent::Clear() {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = read(descriptor_, &count, sizeof count);
}

long PollMilliseconds(const Clock& clock, TimeNs deadline) {
  if (deadline == kNever) return -1;
  const TimeNs left = deadline - clock.Now();
  if (left <= 0) return 0;
  constexpr TimeNs kLongest = std::numeric_limits<int>::max();
  return static_cast<long>(std::min(left / kMillisecond + 1, kLongest));
}

}  // namespace strata::net
