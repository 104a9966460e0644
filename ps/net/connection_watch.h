// ConnectionWatch: the TCP connections of a listening ZeroMQ socket. ZeroMQ gathers a multipart
// message until its last frame has come, however large it grows, and accepts whoever connects. So
// this counts connections, and for each the bytes that came and were handed out, and ends the worst
// ones. Internal to ps/net.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "strata/status.h"

namespace strata::net {

struct ConnectionLimits {
  size_t connections = 4096;  // of the socket; one address may have half of them
  // Of one connection, that came and are no complete message yet. A legal message is less.
  size_t unfinished_bytes = size_t{96} << 20;
  // Likewise of all connections.
  size_t unfinished_bytes_of_all = size_t{512} << 20;
  // Complete messages of one connection that wait to be received, while others are received.
  size_t waiting_bytes = size_t{256} << 20;
};

// Owned by the thread that receives from the socket.
class ConnectionWatch {
 public:
  static constexpr TimeNs kLookEvery = kSecond / 10;

  // Before the socket is bound. `on_closed` is called for each connection that is ended.
  static Result<std::unique_ptr<ConnectionWatch>> Open(void* context, void* socket,
                                                       const ConnectionLimits& limits,
                                                       std::function<void()> on_closed);
  // Before the socket is closed.
  ~ConnectionWatch();
  ConnectionWatch(const ConnectionWatch&) = delete;
  ConnectionWatch& operator=(const ConnectionWatch&) = delete;

  // A message was received that came over this descriptor and had so many bytes there.
  void NoteMessage(int descriptor, size_t bytes);
  // Ends connections beyond the limits. To be called often; `drained`: no complete message waits.
  void Look(TimeNs now, bool drained);
  bool watches() const { return !connections_.empty(); }
  // A ZeroMQ socket that is readable when Look has something to take in.
  void* events() const { return events_; }

 private:
  struct Connection {
    std::string end;          // the peer's address and port, as the system writes them
    std::string address;      // that counts as one: of IPv6 the first half
    TimeNs since = 0;         // when it was first looked at
    uint64_t received = 0;    // bytes of messages
    uint64_t came = 0;        // bytes, at the last look
    uint64_t used = 0;        // when the last message came, or it began: rises by one each time
    uint64_t unfinished = 0;  // bytes, of those that had come a look before
    bool closing = false;
  };

  ConnectionWatch(void* socket, void* events, const ConnectionLimits& limits,
                  std::function<void()> on_closed)
      : socket_(socket), events_(events), limits_(limits), on_closed_(std::move(on_closed)) {}
  void ReadEvents();
  void Accepted(int descriptor);
  void KeepToCount(const std::string& address);
  void LookAtBytes(bool drained);
  void CloseLongestIdle(const std::function<bool(const Connection&)>& among, const char* why);
  void Close(int descriptor, const std::string& why);

  void* const socket_;
  void* const events_;
  const ConnectionLimits limits_;
  const std::function<void()> on_closed_;
  std::map<int, Connection> connections_;     // by descriptor
  std::map<std::string, size_t> of_address_;  // how many
  uint64_t uses_ = 0;
  TimeNs now_ = 0;
  TimeNs next_events_ = 0;
  TimeNs next_look_ = 0;
  TimeNs next_line_ = 0;
};

}  // namespace strata::net
