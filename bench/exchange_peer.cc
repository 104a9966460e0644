#include <fmt/format.h>
#include <zmq.h>

#include <array>
#include <atomic>

#include "base/thread.h"
#include "bench/service_peer.h"

namespace strata::bench {
namespace {

constexpr size_t kHeaderBytes = 160;  // of Strata's messages
constexpr size_t kBodyBytesMax = size_t{64} << 20;

Status ZmqError(const char* what) {
  return Failed(fmt::format("{}: {}", what, zmq_strerror(zmq_errno())));
}

// Sends bytes that outlive the message, without a copy.
Status SendBytes(void* socket, const void* bytes, size_t size, bool more) {
  zmq_msg_t message;
  if (zmq_msg_init_data(&message, const_cast<void*>(bytes), size, nullptr, nullptr) != 0 ||
      zmq_msg_send(&message, socket, more ? ZMQ_SNDMORE : 0) < 0) {
    return ZmqError("bare exchange: cannot send");
  }
  return {};
}

// Takes one whole message and lets it go. With `header`, its first 160-byte frame goes there.
Status TakeMessage(void* socket, std::array<char, kHeaderBytes>* header, std::string* route) {
  for (bool first = true, more = true; more; first = false) {
    zmq_msg_t message;
    zmq_msg_init(&message);
    if (zmq_msg_recv(&message, socket, 0) < 0) return ZmqError("bare exchange: cannot receive");
    const auto* bytes = static_cast<const char*>(zmq_msg_data(&message));
    if (first && route != nullptr) route->assign(bytes, zmq_msg_size(&message));
    if (header != nullptr && zmq_msg_size(&message) == kHeaderBytes) {
      std::copy_n(bytes, kHeaderBytes, header->data());
    }
    more = zmq_msg_more(&message) != 0;
    zmq_msg_close(&message);
  }
  return {};
}

struct Socket {
  Socket(void* context, int type) : handle(zmq_socket(context, type)) {
    const int linger = 0;
    zmq_setsockopt(handle, ZMQ_LINGER, &linger, sizeof linger);
  }
  ~Socket() { zmq_close(handle); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  void* handle;
};

struct Context {
  ~Context() { zmq_ctx_term(handle); }
  void* handle = zmq_ctx_new();
};

// The size of the wanted reply stands at the beginning of the request's header.
class ExchangeClient final : public ServiceClient {
 public:
  explicit ExchangeClient(const std::string& endpoint)
      : socket_(context_.handle, ZMQ_DEALER),
        connected_(zmq_connect(socket_.handle, endpoint.c_str()) == 0) {}

  Status Run(const Load& load, uint64_t first, uint64_t count) override {
    if (!connected_) return Failed("bare exchange: cannot connect");
    uint64_t sent = first;
    for (uint64_t done = first; done < first + count; ++done) {
      const TimeNs begin = load.latencies == nullptr ? 0 : RealClock().Now();
      for (; sent < first + count && sent < done + load.depth; ++sent) {
        STRATA_TRY(Ask(load, sent));
      }
      STRATA_TRY(TakeMessage(socket_.handle, nullptr, nullptr));
      if (load.latencies != nullptr) load.latencies->push_back(RealClock().Now() - begin);
    }
    return {};
  }

 private:
  Status Ask(const Load& load, uint64_t n) {
    const bool pull = load.IsPull(n);
    const uint64_t reply_bytes = pull ? load.batch * load.dim * sizeof(float) : 0;
    memcpy(header_.data(), &reply_bytes, sizeof reply_bytes);
    zmq_send(socket_.handle, header_.data(), header_.size(), ZMQ_SNDMORE);
    const std::span<const Key> keys = load.Batch(n);
    STRATA_TRY(SendBytes(socket_.handle, keys.data(), keys.size_bytes(), !pull));
    if (pull) return {};
    return SendBytes(socket_.handle, load.floats.data(), load.floats.size_bytes(), false);
  }

  Context context_;
  Socket socket_;
  const bool connected_;
  std::array<char, kHeaderBytes> header_{};
};

class ExchangePeer final : public ServicePeer {
 public:
  ExchangePeer() : body_(kBodyBytesMax, 1), socket_(context_.handle, ZMQ_ROUTER) {}
  ~ExchangePeer() override {
    stopping_ = true;
    zmq_ctx_shutdown(context_.handle);
  }

  Status Start() {
    if (zmq_bind(socket_.handle, "tcp://127.0.0.1:*") != 0) return ZmqError("bare exchange");
    std::array<char, 256> endpoint{};
    size_t length = endpoint.size();
    if (zmq_getsockopt(socket_.handle, ZMQ_LAST_ENDPOINT, endpoint.data(), &length) != 0) {
      return ZmqError("bare exchange");
    }
    endpoint_ = endpoint.data();
    STRATA_ASSIGN(thread_, StartThread("exchange", [this] { Serve(); }));
    return {};
  }

  std::string NameOf(Op) const override { return "bare ZeroMQ"; }
  Status Fill(uint64_t, uint32_t) override { return {}; }
  Result<std::unique_ptr<ServiceClient>> Connect() override {
    return std::unique_ptr<ServiceClient>(std::make_unique<ExchangeClient>(endpoint_));
  }

 private:
  void Serve() {
    std::array<char, kHeaderBytes> header{};
    std::string route;
    while (!stopping_) {
      if (!TakeMessage(socket_.handle, &header, &route).ok()) return;
      uint64_t bytes = 0;
      memcpy(&bytes, header.data(), sizeof bytes);
      zmq_send(socket_.handle, route.data(), route.size(), ZMQ_SNDMORE);
      zmq_send(socket_.handle, header.data(), header.size(), bytes != 0 ? ZMQ_SNDMORE : 0);
      if (bytes != 0 && !SendBytes(socket_.handle, body_.data(), bytes, false).ok()) return;
    }
  }

  const std::vector<char> body_;
  std::atomic<bool> stopping_{false};
  std::string endpoint_;
  Context context_;
  Socket socket_;
  std::jthread thread_;
};

}  // namespace

Result<std::unique_ptr<ServicePeer>> StartExchange() {
  auto peer = std::make_unique<ExchangePeer>();
  STRATA_TRY(peer->Start());
  return std::unique_ptr<ServicePeer>(std::move(peer));
}

}  // namespace strata::bench
