// Agreement: the ranks of a group that has failed, and the processes that replace lost ones, agree
// on the members of the next generation. Each serves the others' questions at its port, and asks
// those below it; the lowest rank that is there leads, as the proposer of ballot.h, and any other
// takes over when it falls silent. Internal to cluster/link.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cluster/link/connect/accept_loop.h"
#include "cluster/link/connect/handshake.h"
#include "cluster/link/links.h"
#include "cluster/link/regroup/ballot.h"
#include "cluster/link/regroup/regroup.h"
#include "cluster/link/regroup/regroup_message.h"

namespace strata::link_internal {

// What was agreed on. This process is among the members.
struct Generation {
  uint64_t number = 0;
  int rank = 0;  // of this process
  std::vector<Member> members;
};

// To be used once, by one thread, which does all of the work.
class Agreement {
 public:
  // `group` is the one that has failed. A survivor of it votes; a replacement, which knows nothing
  // of what the process before it has promised, does not. Both outlive this.
  Agreement(const LinkOptions& group, const RegroupOptions& options, Listener listener, bool votes);

  // Errors as those of Regroup. Blocks until `deadline` at most.
  Result<Generation> Reach(TimeNs deadline);
  // After Reach: it listens still.
  Listener TakeListener() { return std::move(listener_); }

 private:
  using Task = asio::awaitable<void>;

  enum class State : uint8_t { kUnknown, kSilent, kGone, kBusy, kReplacement, kHere };
  struct Other {
    int rank = 0;
    Machine machine;
    std::string name;
    State state = State::kUnknown;
    uint64_t process = 0;  // when it is here, or a replacement is
    std::string note;      // what it waits for, or what is wrong with it
  };
  struct Answer {
    Status status;
    bool gone = false;  // nobody listens there
    RegroupMessage message;
  };
  struct Question {
    Other* whom = nullptr;
    RegroupMessage message;
    Answer answer;
  };

  // Being asked.
  asio::awaitable<Status> Serve(ConnectionPtr connection);
  Status Judge(const LinkHello& hello) const;
  Result<RegroupMessage> Reply(const RegroupMessage& question);
  RegroupMessage ReplyVoting(const RegroupMessage& question);

  // Asking.
  RegroupMessage Say(RegroupWord word) const;
  asio::awaitable<Result<std::vector<std::string>>> Addresses(const std::string& host);
  asio::awaitable<Answer> Ask(const Other* other, const RegroupMessage& question);
  asio::awaitable<Answer> AskAt(Tcp::endpoint endpoint, const Other* other,
                                const RegroupMessage& question);
  Task AskInto(Question* question, size_t* open, asio::steady_timer* all_done);
  Task AskAll(std::vector<Question>* questions);
  Task Watch(Other* other);
  bool Wanted(const Other& other) const;
  void Take(Other* other, const Answer& answer);

  // Deciding.
  Task Drive();
  Task Lead();
  const Other* Leader() const;    // null: this rank, or nobody yet
  std::vector<int> Here() const;  // ranks that can vote
  bool Ready() const;
  std::vector<Question> QuestionsToAllHere(RegroupWord word, uint64_t ballot);
  std::vector<Member> Members(const std::vector<int>& voters) const;
  void TakeChosen(uint64_t number, std::vector<Member> members);
  Task Pause(TimeNs time);
  std::string Missing() const;
  Status TimedOut() const;
  void Finish(Status status);

  const LinkOptions& group_;
  const RegroupOptions& options_;
  Listener listener_;
  const bool votes_;
  const LinkProof proof_;
  const uint64_t job_;
  const uint64_t process_;
  const int world_;
  const std::string self_;
  TimeNs begin_ = 0;
  TimeNs deadline_ = 0;

  asio::io_context io_;
  asio::thread_pool resolving_;  // names, which would hold up everything else
  AcceptLoop accepting_;
  asio::steady_timer timer_;
  std::vector<Other> others_;  // in rank order
  // What the last leader said of those whom this rank has not asked: who leads may give up first.
  std::string heard_;

  Acceptor acceptor_;
  uint64_t seen_ = 0;  // the highest ballot
  std::optional<Generation> chosen_;
  bool over_ = false;
  Status status_;
};

}  // namespace strata::link_internal
