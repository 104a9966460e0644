// A small HTTP/1.1 server (Boost.Beast) for GET requests of people and Prometheus: /metrics,
// /healthz (the process lives), /readyz (it serves), and whatever else a daemon adds.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "strata/status.h"

namespace strata {

struct HttpReply {
  int code = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

// One thread of its own. Requests larger than 16 KiB, and methods other than GET and HEAD, are
// refused by HTTP's rules. A connection ends when its next request has not come after 10 s, or an
// answer was not taken within 10 s. There are at most 64: a further one takes the place of the one
// that has waited longest for a request.
class HttpServer {
 public:
  using Handler = std::function<HttpReply()>;  // called on the server's thread; must not block long

  HttpServer();
  ~HttpServer();                                          // Stop and Join
  void Handle(const std::string& path, Handler handler);  // before Start
  // Port 0 picks a free one. kFailed with address and cause when it cannot listen.
  Status Start(const std::string& host, uint16_t port);
  uint16_t port() const;  // after Start
  void Stop();            // only asks; idempotent
  void Join();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace strata
