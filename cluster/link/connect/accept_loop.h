// Accepts connections on one listening socket and serves each in a coroutine of its own. However
// many strangers connect and say nothing, those that come later get their turn: above a limit the
// oldest connection that has proven nothing is closed. Internal to cluster/link.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <list>
#include <memory>
#include <set>
#include <string>

#include "cluster/link/connect/listener.h"
#include "cluster/link/connect/session.h"
#include "strata/status.h"

namespace strata::link_internal {

// All on the thread that runs the io_context, which must not run any more when this is destroyed.
class AcceptLoop {
 public:
  // Done when the connection has been served or handed on. Errors are logged, once for each host
  // and reason.
  using Serve = std::function<asio::awaitable<Status>(ConnectionPtr)>;
  AcceptLoop(asio::io_context& io, Serve serve);

  // Begins to accept on the socket that `listener` gives away.
  Status Start(Listener* listener);
  // Its other end has proven that it belongs here: it stays, however many come.
  void Trust(const ConnectionPtr& connection);
  // Nothing is accepted or logged any more; connections that are being served go on. Returns the
  // socket, which still listens.
  OwnedFd Stop();

 private:
  asio::awaitable<void> AcceptAll();
  asio::awaitable<void> ServeOne(ConnectionPtr connection);
  void LogStranger(const std::string& remote, const Status& why);

  asio::io_context& io_;
  const Serve serve_;
  Tcp::acceptor acceptor_;
  std::list<std::weak_ptr<Connection>> pending_;  // not trusted yet, oldest first
  std::set<std::string> strangers_;               // already logged
};

}  // namespace strata::link_internal
