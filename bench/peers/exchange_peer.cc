#include <fmt/format.h>
#include <malloc.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>

#include "base/heap.h"
#include "base/thread/thread.h"
#include "bench/peers/service_peer.h"

namespace strata::bench {
namespace {

constexpr size_t kHeaderBytes = 160;  // of Strata's messages
constexpr size_t kBodyBytesMax = size_t{64} << 20;

Status ZmqError(const char* what) {
  return Failed(fmt::format("bare exchange: {}: {}", what, zmq_strerror(zmq_errno())));
}

// A socket and how bytes pass through it.
class Socket {
 public:
  Socket(void* context, int type) : handle_(zmq_socket(context, type)), memory_(kBodyBytesMax, 1) {
    const int linger = 0;
    zmq_setsockopt(handle_, ZMQ_LINGER, &linger, sizeof linger);
  }
  ~Socket() { zmq_close(handle_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  void* handle() const { return handle_; }
  // As long as the largest body.
  const char* memory() const { return memory_.data(); }

  Status Send(const void* bytes, size_t size, bool more) {
    const int flags = more ? ZMQ_SNDMORE : 0;
    return zmq_send(handle_, bytes, size, flags) < 0 ? ZmqError("cannot send") : Status();
  }

  // Takes one whole message. Its first 160-byte frame goes to `header`, its first frame to `route`,
  // unless they are null.
  Status Take(std::array<char, kHeaderBytes>* header, std::string* route) {
    size_t body = 0;
    for (bool first = true, more = true; more; first = false) {
      zmq_msg_t message;
      zmq_msg_init(&message);
      if (zmq_msg_recv(&message, handle_, 0) < 0) return ZmqError("cannot receive");
      const auto* bytes = static_cast<const char*>(zmq_msg_data(&message));
      const size_t size = zmq_msg_size(&message);
      if (first && route != nullptr) {
        route->assign(bytes, size);
      } else if (header != nullptr && size == kHeaderBytes) {
        std::copy_n(bytes, kHeaderBytes, header->data());
      } else if (body + size <= memory_.size()) {
        std::copy_n(bytes, size, memory_.data() + body);
        body += size;
      }
      more = zmq_msg_more(&message) != 0;
      zmq_msg_close(&message);
    }
    return {};
  }

 private:
  void* handle_;
  std::vector<char> memory_;
};

// While it lives malloc is what it would have become in a program that only exchanges messages of
// this size: glibc maps blocks above 128 KiB by themselves, and when the first of them is freed
// raises that threshold to its size, and the one above which a heap's end goes back to twice that.
class PlainHeap {
 public:
  explicit PlainHeap(size_t message_bytes) {
    constexpr size_t kDefault = size_t{128} << 10;
    const auto threshold = static_cast<int>(std::max(message_bytes + 4096, kDefault));
    mallopt(M_MMAP_THRESHOLD, threshold);
    mallopt(M_TRIM_THRESHOLD, 2 * threshold);
  }
  ~PlainHeap() { KeepFreedMemory(); }
  PlainHeap(const PlainHeap&) = delete;
  PlainHeap& operator=(const PlainHeap&) = delete;
};

struct Context {
  ~Context() { zmq_ctx_term(handle); }
  void* handle = zmq_ctx_new();
};

// The size of the wanted reply stands at the beginning of the request's header.
class ExchangeClient final : public ServiceClient {
 public:
  ExchangeClient(const std::string& endpoint, Exchange kind)
      : kind_(kind),
        socket_(context_.handle, ZMQ_DEALER),
        connected_(zmq_connect(socket_.handle(), endpoint.c_str()) == 0) {}

  Status Run(const Load& load, uint64_t first, uint64_t count) override {
    if (!connected_) return Failed("bare exchange: cannot connect");
    std::optional<PlainHeap> plain;
    if (kind_ == Exchange::kPlain) plain.emplace(load.batch * load.dim * sizeof(float));
    uint64_t sent = first;
    for (uint64_t done = first; done < first + count; ++done) {
      const TimeNs begin = load.latencies == nullptr ? 0 : RealClock().Now();
      for (; sent < first + count && sent < done + load.depth; ++sent) {
        STRATA_TRY(Ask(load, sent));
      }
      STRATA_TRY(socket_.Take(nullptr, nullptr));
      if (load.latencies != nullptr) load.latencies->push_back(RealClock().Now() - begin);
    }
    return {};
  }

 private:
  Status Ask(const Load& load, uint64_t n) {
    const bool pull = load.IsPull(n);
    const uint64_t reply_bytes = pull ? load.batch * load.dim * sizeof(float) : 0;
    memcpy(header_.data(), &reply_bytes, sizeof reply_bytes);
    STRATA_TRY(socket_.Send(header_.data(), header_.size(), true));
    const std::span<const Key> keys = load.Batch(n);
    STRATA_TRY(socket_.Send(keys.data(), keys.size_bytes(), !pull));
    if (pull) return {};
    return socket_.Send(load.floats.data(), load.floats.size_bytes(), false);
  }

  const Exchange kind_;
  Context context_;
  Socket socket_;
  const bool connected_;
  std::array<char, kHeaderBytes> header_{};
};

class ExchangePeer final : public ServicePeer {
 public:
  explicit ExchangePeer(Exchange kind) : kind_(kind), socket_(context_.handle, ZMQ_ROUTER) {}
  ~ExchangePeer() override {
    stopping_ = true;
    zmq_ctx_shutdown(context_.handle);
  }

  Status Start() {
    if (zmq_bind(socket_.handle(), "tcp://127.0.0.1:*") != 0) return ZmqError("cannot listen");
    std::array<char, 256> endpoint{};
    size_t length = endpoint.size();
    if (zmq_getsockopt(socket_.handle(), ZMQ_LAST_ENDPOINT, endpoint.data(), &length) != 0) {
      return ZmqError("cannot listen");
    }
    endpoint_ = endpoint.data();
    STRATA_ASSIGN(thread_, StartThread("exchange", [this] { Serve(); }));
    return {};
  }

  std::string NameOf(Op) const override {
    return kind_ == Exchange::kKept ? "bare ZeroMQ" : "bare ZeroMQ, plain malloc";
  }
  Status Fill(uint64_t, uint32_t) override { return {}; }
  Result<std::unique_ptr<ServiceClient>> Connect() override {
    return std::unique_ptr<ServiceClient>(std::make_unique<ExchangeClient>(endpoint_, kind_));
  }

 private:
  void Serve() {
    std::array<char, kHeaderBytes> header{};
    std::string route;
    while (!stopping_) {
      if (!socket_.Take(&header, &route).ok()) return;
      uint64_t bytes = 0;
      memcpy(&bytes, header.data(), sizeof bytes);
      if (!socket_.Send(route.data(), route.size(), true).ok()) return;
      if (!socket_.Send(header.data(), header.size(), bytes != 0).ok()) return;
      if (bytes != 0 && !socket_.Send(socket_.memory(), bytes, false).ok()) return;
    }
  }

  const Exchange kind_;
  std::atomic<bool> stopping_{false};
  std::string endpoint_;
  Context context_;
  Socket socket_;
  std::jthread thread_;
};

}  // namespace

Result<std::unique_ptr<ServicePeer>> StartExchange(Exchange kind) {
  auto peer = std::make_unique<ExchangePeer>(kind);
  STRATA_TRY(peer->Start());
  return std::unique_ptr<ServicePeer>(std::move(peer));
}

}  // namespace strata::bench
