#include "cluster/link/regroup/agreement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <utility>

#include "base/human_text.h"
#include "cluster/link/connect/session.h"

namespace strata::link_internal {
namespace {

using boost::system::error_code;

constexpr TimeNs kLookEvery = 20 * kMillisecond;
constexpr TimeNs kPollFirst = 20 * kMillisecond;
constexpr TimeNs kPollLast = 250 * kMillisecond;

double Seconds(TimeNs time) { return static_cast<double>(time) / static_cast<double>(kSecond); }

}  // namespace

Agreement::Agreement(const LinkOptions& group, const RegroupOptions& options, Listener listener,
                     bool votes)
    : group_(group),
      options_(options),
      listener_(std::move(listener)),
      votes_(votes),
      proof_{.key = MakeLinkKey(group.secret), .tls = group.tls},
      job_(MakeJobId(group.cluster, group.job)),
      process_(MakeProcessId()),
      world_(static_cast<int>(group.workers.size())),
      self_(RankName(group.rank, group.workers[static_cast<size_t>(group.rank)])),
      io_(1),
      resolving_(1),
      accepting_(io_, [this](ConnectionPtr from) { return Serve(std::move(from)); }),
      timer_(io_) {
  for (int rank = 0; rank < world_; ++rank) {
    if (rank == group.rank) continue;
    Other other;
    other.rank = rank;
    other.machine = group.workers[static_cast<size_t>(rank)];
    other.name = RankName(rank, other.machine);
    others_.push_back(std::move(other));
  }
}

Result<Generation> Agreement::Reach(TimeNs deadline) {
  begin_ = RealClock().Now();
  deadline_ = deadline;
  STRATA_TRY(accepting_.Start(&listener_));
  for (Other& other : others_) asio::co_spawn(io_, Watch(&other), asio::detached);
  asio::co_spawn(io_, Drive(), asio::detached);
  io_.run();
  if (!status_.ok()) return status_;
  return *chosen_;
}

void Agreement::Finish(Status status) {
  if (over_) return;
  over_ = true;
  status_ = std::move(status);
  // Whoever dials from here on waits in the socket's queue for the next to serve it.
  listener_.socket = accepting_.Stop();
  io_.stop();
}

Agreement::Task Agreement::Pause(TimeNs time) {
  asio::steady_timer timer(io_);
  timer.expires_after(std::chrono::nanoseconds(time));
  error_code ignored;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

// ---- Watching the others.

const Agreement::Other* Agreement::Leader() const {
  for (const Other& other : others_) {
    if (votes_ && other.rank > group_.rank) break;
    if (other.state == State::kHere) return &other;
  }
  return nullptr;
}

// Most ranks have one other to ask, so that many ranks are no flood of connections.
bool Agreement::Wanted(const Other& other) const {
  if (const Other* leader = Leader(); leader != nullptr) return other.rank <= leader->rank;
  if (others_.front().state == State::kUnknown) return other.rank == others_.front().rank;
  return other.state != State::kHere;
}

Agreement::Task Agreement::Watch(Other* other) {
  TimeNs pause = kPollFirst;
  for (;;) {
    if (Wanted(*other)) {
      const RegroupMessage poll = Say(RegroupWord::kPoll);
      const Answer answer = co_await Ask(other, poll);
      if (over_) co_return;
      Take(other, answer);
      timer_.cancel();
      pause = std::min(2 * pause, kPollLast);
    } else {
      pause = kPollFirst;
    }
    co_await Pause(pause);
  }
}

void Agreement::Take(Other* other, const Answer& answer) {
  const RegroupMessage& message = answer.message;
  other->note = message.note;
  if (!answer.status.ok()) {
    if (answer.status.code() == StatusCode::kInvalid) {
      Finish(answer.status.Prefixed(other->name));
      return;
    }
    other->state = answer.gone ? State::kGone : State::kSilent;
    other->note = answer.gone ? "nobody listens there" : answer.status.message();
    return;
  }
  other->process = message.process;
  switch (message.word) {
    case RegroupWord::kHere:
    case RegroupWord::kPromised:
    case RegroupWord::kAccepted:
      other->state = State::kHere;
      break;
    case RegroupWord::kDenied:
      other->state = State::kHere;
      seen_ = std::max(seen_, message.ballot);
      break;
    case RegroupWord::kReplacement:
      other->state = State::kReplacement;
      break;
    case RegroupWord::kChosen:
      other->state = State::kBusy;
      other->note = fmt::format("it is in generation {} of the group", message.generation);
      TakeChosen(message.generation, message.members);
      break;
    default:
      other->state = State::kBusy;
      other->note = "it has not come to rebuild the group";
  }
  if (other == Leader()) heard_ = fmt::format("{} missed {}", other->name, message.note);
}

void Agreement::TakeChosen(uint64_t number, std::vector<Member> members) {
  if (over_ || (votes_ && number <= group_.generation)) return;
  const auto mine = std::ranges::find(members, process_, &Member::process);
  if (mine != members.end()) {
    const auto rank = static_cast<int>(mine - members.begin());
    chosen_ = Generation{.number = number, .rank = rank, .members = std::move(members)};
    Finish({});
    return;
  }
  if (!votes_) return;  // the group may fail again, and then need a replacement
  std::vector<std::string> names;
  for (const Member& member : members) names.push_back(member.machine.Address());
  Finish(Refused(fmt::format(
      "{} is out: the group of generation {} goes on without it as generation {} of "
      "{}, {}",
      self_, group_.generation, number, Counted(members.size(), "rank"), fmt::join(names, ", "))));
}

// ---- Leading.

std::vector<int> Agreement::Here() const {
  std::vector<int> here;
  if (votes_) here.push_back(group_.rank);
  for (const Other& other : others_) {
    if (other.state == State::kHere) here.push_back(other.rank);
  }
  return here;
}

bool Agreement::Ready() const {
  if (!IsQuorum(Here(), world_)) return false;
  const bool patient = RealClock().Now() - begin_ < options_.patience;
  return std::ranges::all_of(others_, [&](const Other& other) {
    if (other.state == State::kHere) return true;
    if (options_.replacements) return other.state == State::kReplacement;
    return !patient || other.state == State::kGone || other.state == State::kReplacement;
  });
}

Agreement::Task Agreement::Drive() {
  for (;;) {
    const TimeNs left = deadline_ - RealClock().Now();
    if (left <= 0) {
      Finish(TimedOut());
      co_return;
    }
    if (votes_ && Leader() == nullptr && Ready()) co_await Lead();
    if (over_) co_return;
    timer_.expires_after(std::chrono::nanoseconds(std::min(kLookEvery, left)));
    error_code woken;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
    if (over_) co_return;
  }
}

std::vector<Agreement::Question> Agreement::QuestionsToAllHere(RegroupWord word, uint64_t ballot) {
  std::vector<Question> questions;
  for (Other& other : others_) {
    const bool replacement = other.state == State::kReplacement && options_.replacements;
    if (other.state != State::kHere && !replacement) continue;
    // A replacement has no vote, but must be there.
    RegroupMessage message = Say(replacement ? RegroupWord::kPoll : word);
    message.ballot = ballot;
    questions.push_back({.whom = &other, .message = std::move(message), .answer = {}});
  }
  return questions;
}

// Of the new group, in the old order: these ranks and the replacements.
std::vector<Member> Agreement::Members(const std::vector<int>& voters) const {
  std::vector<Member> members;
  for (int rank = 0; rank < world_; ++rank) {
    const Machine& machine = group_.workers[static_cast<size_t>(rank)];
    if (rank == group_.rank) {
      members.push_back({.machine = machine, .process = process_});
      continue;
    }
    const Other& other = others_[static_cast<size_t>(rank < group_.rank ? rank : rank - 1)];
    const bool replaces = options_.replacements && other.state == State::kReplacement;
    if (replaces || std::ranges::find(voters, rank) != voters.end()) {
      members.push_back({.machine = machine, .process = other.process});
    }
  }
  return members;
}

// One ballot. Whatever it does not bring about, the next one may.
Agreement::Task Agreement::Lead() {
  seen_ = std::max(seen_, acceptor_.promised());
  const uint64_t ballot = NextBallot(seen_, group_.rank);
  seen_ = ballot;
  acceptor_.Promise(ballot);
  std::vector<Question> questions = QuestionsToAllHere(RegroupWord::kPrepare, ballot);
  co_await AskAll(&questions);
  if (over_) co_return;
  Promises promises(world_);
  promises.Add(group_.rank, acceptor_.accepted());
  for (const Question& question : questions) {
    Take(question.whom, question.answer);
    if (over_) co_return;
    const RegroupMessage& said = question.answer.message;
    if (!question.answer.status.ok() || said.word != RegroupWord::kPromised) continue;
    const Proposal accepted{.ballot = said.ballot, .members = said.members};
    promises.Add(question.whom->rank, accepted);
  }
  if (!promises.IsEnough()) co_return;
  Proposal proposal{.ballot = ballot, .members = promises.bound()};
  if (proposal.members.empty()) {
    if (!Ready()) co_return;
    proposal.members = Members(promises.ranks());
  }
  if (!acceptor_.Accept(proposal)) co_return;

  std::erase_if(questions, [](const Question& question) {
    return question.answer.message.word != RegroupWord::kPromised;
  });
  for (Question& question : questions) {
    question.message.word = RegroupWord::kAccept;
    question.message.members = proposal.members;
  }
  co_await AskAll(&questions);
  if (over_) co_return;
  std::vector<int> voters = {group_.rank};
  for (const Question& question : questions) {
    Take(question.whom, question.answer);
    if (over_) co_return;
    const RegroupMessage& said = question.answer.message;
    if (question.answer.status.ok() && said.word == RegroupWord::kAccepted) {
      voters.push_back(question.whom->rank);
    }
  }
  if (!IsQuorum(voters, world_)) co_return;

  // Chosen. Whom this does not reach asks.
  questions = QuestionsToAllHere(RegroupWord::kLearn, ballot);
  for (Question& question : questions) {
    question.message.word = RegroupWord::kLearn;
    question.message.members = proposal.members;
  }
  co_await AskAll(&questions);
  TakeChosen(group_.generation + 1, proposal.members);
}

// ---- What is missing.

std::string Agreement::Missing() const {
  std::vector<std::string> missing;
  bool asks_leader = false;
  for (const Other& other : others_) {
    const bool here = other.state == State::kHere ||
                      (options_.replacements && other.state == State::kReplacement);
    if (here) continue;
    if (other.state == State::kUnknown && !heard_.empty()) {
      asks_leader = true;
      continue;
    }
    missing.push_back(
        fmt::format("{}: {}", other.name, other.note.empty() ? "gives no answer" : other.note));
  }
  if (asks_leader) missing.push_back(heard_);
  return fmt::format("{}", fmt::join(missing, "; "));
}

Status Agreement::TimedOut() const {
  const std::string what = fmt::format("a group of {} ranks could not be rebuilt within {}", world_,
                                       HumanSeconds(Seconds(options_.timeout)));
  if (const Other* leader = Leader(); leader != nullptr) {
    return Lost(fmt::format("{}: {} leads and misses {}", what, leader->name,
                            leader->note.empty() ? "nobody" : leader->note));
  }
  const std::vector<int> here = Here();
  std::string missing = Missing();
  if (votes_ && !IsQuorum(here, world_)) {
    missing +=
        fmt::format("; {} here {} too few of {}: more than half must go on, or half with rank 0",
                    here.size(), here.size() == 1 ? "is" : "are", world_);
  }
  return Lost(fmt::format("{}: {}", what, missing));
}

}  // namespace strata::link_internal
