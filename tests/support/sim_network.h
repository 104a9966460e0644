// The simulated network: ports by name on a SimClock, in one thread. Messages are dropped,
// repeated, delayed (and so reordered) and partitioned from a seed; the same seed and calls give
// the same run.
//
//   while (network.RunOne()) { for (Node& node : nodes) node.Poll(); }
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/message_port.h"
#include "base/random.h"

namespace strata {

struct SimNetworkOptions {
  uint64_t seed = 1;
  double drop = 0;    // probability that a message is lost
  double repeat = 0;  // probability that a message that is not lost comes twice
  // Each copy takes its own time, evenly distributed between the two.
  TimeNs delay_min = 0;
  TimeNs delay_max = 0;
};

struct SimNetworkStats {
  uint64_t sent = 0;
  uint64_t dropped = 0;    // by chance, at a cut, or because nobody had the name
  uint64_t repeated = 0;   // second copies made
  uint64_t delivered = 0;  // copies that reached a port; sent + repeated = dropped + delivered +
                           // those under way
};

// One thread. Outlives its ports; the clock outlives it.
class SimNetwork {
 public:
  SimNetwork(SimClock* clock, const SimNetworkOptions& options);
  ~SimNetwork();

  // A port that others reach by this name, which no open port may have. A message goes to whoever
  // has the name when it arrives, so that one for a server may meet its successor, as with a TCP
  // endpoint. What a port had not received when it is destroyed is lost.
  //
  // Send: `peer` is the name to send to; never an error. Receive: a message that has arrived by the
  // clock's current time, or nothing: the deadline is not waited for, since only the caller moves
  // the clock. Wake does nothing.
  std::unique_ptr<MessagePort> OpenPort(std::string name);

  // Messages between the two, both ways, sent or arriving while they are cut are lost.
  void Cut(const std::string& a, const std::string& b);
  void Heal(const std::string& a, const std::string& b);
  void HealAll() { cuts_.clear(); }

  // For phases of a test: faults from now on. Messages under way keep their fate.
  void SetFaults(double drop, double repeat);

  // When the next message under way arrives; kNever when none is.
  TimeNs NextDelivery() const;
  // Moves the clock to the next arrival and delivers it; false when nothing is under way.
  bool RunOne();

  const SimNetworkStats& stats() const { return stats_; }

 private:
  class Port;
  struct Flight {
    std::string to;
    Envelope envelope;  // peer: the sender
  };

  void Send(const std::string& from, Envelope envelope);
  void Launch(const std::string& to, const Envelope& envelope);
  void DeliverFirst();
  void DeliverDue();
  bool IsCut(const std::string& a, const std::string& b) const;

  SimClock* const clock_;
  SimNetworkOptions options_;
  Random random_;
  SimNetworkStats stats_;
  uint64_t launched_ = 0;
  std::map<std::pair<TimeNs, uint64_t>, Flight> flights_;  // by arrival, then by launch
  std::map<std::string, Port*> ports_;
  std::set<std::pair<std::string, std::string>> cuts_;  // smaller name first
};

}  // namespace strata
