#include "tests/support/sim_network.h"

#include <algorithm>
#include <deque>

namespace strata {
namespace {

std::pair<std::string, std::string> Pair(const std::string& a, const std::string& b) {
  return std::minmax(a, b);
}

}  // namespace

class SimNetwork::Port : public MessagePort {
 public:
  Port(SimNetwork* network, std::string name) : network_(network), name_(std::move(name)) {}
  ~Port() override { network_->ports_.erase(name_); }

  Status Send(Envelope envelope) override {
    network_->Send(name_, std::move(envelope));
    return Status::Ok();
  }

  Result<std::optional<Envelope>> Receive(TimeNs) override {
    network_->DeliverDue();
    if (inbox_.empty()) return std::optional<Envelope>();
    std::optional<Envelope> envelope(std::move(inbox_.front()));
    inbox_.pop_front();
    return envelope;
  }

  void Wake() override {}

  void Deliver(Envelope envelope) { inbox_.push_back(std::move(envelope)); }

 private:
  SimNetwork* const network_;
  const std::string name_;
  std::deque<Envelope> inbox_;
};

SimNetwork::SimNetwork(SimClock* clock, const SimNetworkOptions& options)
    : clock_(clock), options_(options), random_(options.seed) {
  STRATA_CHECK(options.delay_min >= 0 && options.delay_min <= options.delay_max);
}

SimNetwork::~SimNetwork() { STRATA_CHECK(ports_.empty()); }

std::unique_ptr<MessagePort> SimNetwork::OpenPort(std::string name) {
  auto port = std::make_unique<Port>(this, name);
  const bool opened = ports_.emplace(std::move(name), port.get()).second;
  STRATA_CHECK(opened);
  return port;
}

void SimNetwork::Cut(const std::string& a, const std::string& b) { cuts_.insert(Pair(a, b)); }

void SimNetwork::Heal(const std::string& a, const std::string& b) { cuts_.erase(Pair(a, b)); }

void SimNetwork::SetFaults(double drop, double repeat) {
  options_.drop = drop;
  options_.repeat = repeat;
}

TimeNs SimNetwork::NextDelivery() const {
  return flights_.empty() ? kNever : flights_.begin()->first.first;
}

bool SimNetwork::RunOne() {
  if (flights_.empty()) return false;
  clock_->AdvanceTo(NextDelivery());
  DeliverFirst();
  return true;
}

void SimNetwork::Send(const std::string& from, Envelope envelope) {
  ++stats_.sent;
  const std::string to = std::move(envelope.peer);
  envelope.peer = from;
  if (IsCut(from, to) || random_.Chance(options_.drop)) {
    ++stats_.dropped;
    return;
  }
  Launch(to, envelope);
  if (random_.Chance(options_.repeat)) {
    ++stats_.repeated;
    Launch(to, envelope);
  }
}

void SimNetwork::Launch(const std::string& to, const Envelope& envelope) {
  const uint64_t spread = static_cast<uint64_t>(options_.delay_max - options_.delay_min) + 1;
  const TimeNs delay = options_.delay_min + static_cast<TimeNs>(random_.Below(spread));
  flights_.emplace(std::pair(clock_->Now() + delay, launched_++), Flight{to, envelope});
}

void SimNetwork::DeliverFirst() {
  Flight flight = std::move(flights_.extract(flights_.begin()).mapped());
  const auto port = ports_.find(flight.to);
  if (port == ports_.end() || IsCut(flight.envelope.peer, flight.to)) {
    ++stats_.dropped;
    return;
  }
  ++stats_.delivered;
  port->second->Deliver(std::move(flight.envelope));
}

void SimNetwork::DeliverDue() {
  while (!flights_.empty() && NextDelivery() <= clock_->Now()) DeliverFirst();
}

bool SimNetwork::IsCut(const std::string& a, const std::string& b) const {
  return cuts_.contains(Pair(a, b));
}

}  // namespace strata
