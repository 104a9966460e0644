#include <utility>

#include "cluster/config_file.h"
#include "ps/net/address.h"
#include "ps/service/server.h"
#include "ps/service/server_options.h"
#include "strata/server.h"

namespace strata {
namespace {

Result<ServerOptions> OptionsOf(const EmbeddedServerOptions& options) {
  STRATA_ASSIGN(const ClusterConfig config,
                ReadClusterConfig(options.config, options.settings, "EmbeddedServerOptions"));
  STRATA_ASSIGN(ServerOptions made, MakeServerOptions(config));
  made.inproc = options.inproc;
  return made;
}

}  // namespace

struct EmbeddedServer::Impl {
  std::unique_ptr<Server> server;
  std::string address;
};

EmbeddedServer::EmbeddedServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
EmbeddedServer::~EmbeddedServer() = default;

Result<std::unique_ptr<EmbeddedServer>> EmbeddedServer::Start(
    const EmbeddedServerOptions& options) {
  STRATA_ASSIGN(ServerOptions made, OptionsOf(options));
  const std::string host = made.host;
  STRATA_ASSIGN(std::unique_ptr<Server> server, Server::Start(std::move(made)));
  std::string address = HostPort(host, server->port());
  return std::unique_ptr<EmbeddedServer>(
      new EmbeddedServer(std::make_unique<Impl>(std::move(server), std::move(address))));
}

void EmbeddedServer::Stop() {
  impl_->server->Stop();
  impl_->server->Join();
}

const std::string& EmbeddedServer::address() const { return impl_->address; }
uint16_t EmbeddedServer::http_port() const { return impl_->server->http_port(); }

}  // namespace strata
