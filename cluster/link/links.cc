#include "cluster/link/links.h"

#include <fmt/format.h>

#include "cluster/link/hub.h"

namespace strata {

Result<Listener> Links::Open(const LinkOptions& options) {
  const auto world = options.workers.size();
  if (options.rank < 0 || static_cast<size_t>(options.rank) >= world) {
    return Invalid(fmt::format("rank {} is out of range: the machine list has {} workers",
                               options.rank, world));
  }
  const Machine& mine = options.workers[static_cast<size_t>(options.rank)];
  auto listener = OpenListener(mine.host, mine.port, options.connect_timeout);
  if (!listener.ok()) {
    return listener.status().Prefixed(
        fmt::format("worker rank {} ({})", options.rank, mine.Address()));
  }
  STRATA_TRY(CheckExposure(*listener, options.has_proof(), options.insecure));
  return listener;
}

Result<std::unique_ptr<Links>> Links::Listen(LinkOptions options) {
  STRATA_ASSIGN(Listener listener, Open(options));
  return Listen(std::move(options), std::move(listener));
}

Result<std::unique_ptr<Links>> Links::Listen(LinkOptions options, Listener listener) {
  STRATA_TRY(CheckExposure(listener, options.has_proof(), options.insecure));
  auto hub = std::make_unique<link_internal::Hub>(std::move(options), std::move(listener));
  STRATA_TRY(hub->Start());
  return std::unique_ptr<Links>(new Links(std::move(hub)));
}

Links::Links(std::unique_ptr<link_internal::Hub> hub) : hub_(std::move(hub)) {}
Links::~Links() = default;

void Links::SetStatusProvider(std::function<std::string()> provider) {
  hub_->SetStatusProvider(std::move(provider));
}
void Links::SetControlHandler(std::function<std::string(std::string_view)> handler) {
  hub_->SetControlHandler(std::move(handler));
}
void Links::OnFailure(std::function<void(const Status&)> callback) {
  hub_->OnFailure(std::move(callback));
}
Status Links::Connect() { return hub_->Connect(); }
int Links::rank() const { return hub_->options().rank; }
int Links::world() const { return static_cast<int>(hub_->options().workers.size()); }
const LinkOptions& Links::options() const { return hub_->options(); }
Status Links::Exchange(const ExchangeTag& tag, const SendPart& send, const ReceivePart& receive,
                       TimeNs deadline) {
  return hub_->Exchange(tag, send, receive, deadline);
}
bool Links::connected() const { return hub_->connected(); }
int Links::open_links() const { return hub_->open_links(); }
void Links::Cancel(const Status& why) { hub_->Cancel(why); }
Status Links::Failure() const { return hub_->Failure(); }
Status Links::Leave(TimeNs timeout) { return hub_->Leave(timeout); }
Listener Links::Close() { return hub_->Close(); }

}  // namespace strata
