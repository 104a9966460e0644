// The part of Agreement that talks: asks others, and is asked.
#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <utility>

#include "cluster/link/connect/session.h"
#include "cluster/link/regroup/agreement.h"
#include "cluster/names/resolve.h"

namespace strata::link_internal {
namespace {

using boost::system::error_code;

// For an answer, from the connection request on. Whom it is too short for is asked again.
constexpr TimeNs kAnswerMax = kSecond;
constexpr TimeNs kResolveTimeout = kSecond;

using Found = Result<std::vector<std::string>>;

asio::awaitable<void> Resolve(std::string host, std::shared_ptr<Found> found) {
  *found = ResolveHost(host, kResolveTimeout);
  co_return;
}

}  // namespace

// ---- Being asked.

asio::awaitable<Status> Agreement::Serve(ConnectionPtr connection) {
  const SocketDeadline limit(connection, group_.accept_timeout);
  const Judgement judge = [this, &connection](const LinkHello& hello) {
    Status verdict = Judge(hello);
    if (verdict.ok()) accepting_.Trust(connection);
    return verdict;
  };
  Result<LinkHello> hello = co_await AcceptHandshake(*connection, proof_, judge);
  if (!hello.ok()) {
    // Members that already link up come again; who has its answer from another leaves.
    const StatusCode code = hello.status().code();
    const bool expected = code == StatusCode::kUnavailable || code == StatusCode::kLost;
    co_return expected ? Status() : hello.status();
  }
  Result<LinkFrame> confirm = co_await ReadFrame(*connection, 0);
  if (!confirm.ok()) co_return confirm.status();
  if (hello->purpose == LinkPurpose::kAdmin) {
    const std::string text = "the group is being rebuilt: " + Missing();
    co_return co_await RefuseRequest(*connection, text);
  }
  std::optional<RegroupMessage> learnt;
  const RegroupReply reply = [this, &learnt](const RegroupMessage& question) {
    if (question.word == RegroupWord::kLearn) learnt = question;
    return Reply(question);
  };
  Status answered = co_await AnswerRegroup(*connection, reply);
  if (learnt.has_value()) TakeChosen(learnt->generation + 1, learnt->members);
  co_return answered;
}

Status Agreement::Judge(const LinkHello& hello) const {
  if (hello.purpose == LinkPurpose::kAdmin) return {};
  if (hello.purpose == LinkPurpose::kControl || hello.purpose == LinkPurpose::kData) {
    return Unavailable(fmt::format("{} is rebuilding its group", self_));
  }
  if (hello.purpose == LinkPurpose::kRendezvous) return Refused("the ranks of this job have met");
  return CheckJob(hello, job_, group_.rank);
}

Result<RegroupMessage> Agreement::Reply(const RegroupMessage& question) {
  if (!votes_ && !question.replacements) return Say(RegroupWord::kReplacement);
  if (question.replacements != options_.replacements) {
    return Invalid(
        fmt::format("{} goes on with {}, the other with {}; all ranks must choose alike", self_,
                    options_.replacements ? "replacements for lost ranks" : "the survivors alone",
                    question.replacements ? "replacements for lost ranks" : "the survivors alone"));
  }
  if (question.word == RegroupWord::kLearn) return Say(RegroupWord::kAccepted);
  if (!votes_) return Say(RegroupWord::kReplacement);
  if (question.generation != group_.generation) return AnswerOfGroup(group_, question);
  return ReplyVoting(question);
}

RegroupMessage Agreement::ReplyVoting(const RegroupMessage& question) {
  if (question.word == RegroupWord::kPoll) {
    RegroupMessage here = Say(RegroupWord::kHere);
    here.note = Missing();
    return here;
  }
  RegroupMessage denied = Say(RegroupWord::kDenied);
  denied.ballot = acceptor_.promised();
  if (question.word == RegroupWord::kPrepare) {
    if (!acceptor_.Promise(question.ballot)) return denied;
    RegroupMessage promised = Say(RegroupWord::kPromised);
    promised.ballot = acceptor_.accepted().ballot;
    promised.members = acceptor_.accepted().members;
    return promised;
  }
  if (!acceptor_.Accept({.ballot = question.ballot, .members = question.members})) return denied;
  return Say(RegroupWord::kAccepted);
}

// ---- Asking.

RegroupMessage Agreement::Say(RegroupWord word) const {
  return {.word = word,
          .replacements = options_.replacements,
          .generation = group_.generation,
          .process = process_,
          .ballot = 0,
          .members = {},
          .note = {}};
}

asio::awaitable<Result<std::vector<std::string>>> Agreement::Addresses(const std::string& host) {
  error_code error;
  static_cast<void>(asio::ip::make_address(host, error));
  if (!error) {
    std::vector<std::string> itself = {host};
    co_return itself;
  }
  auto found = std::make_shared<Found>(Lost("its name was not looked up"));
  auto looking = Resolve(host, found);
  co_await asio::co_spawn(resolving_, std::move(looking), asio::use_awaitable);
  co_return *found;
}

asio::awaitable<Agreement::Answer> Agreement::Ask(const Other* other,
                                                  const RegroupMessage& question) {
  Result<std::vector<std::string>> addresses = co_await Addresses(other->machine.host);
  Answer answer;
  if (!addresses.ok()) {
    answer.status = Lost(addresses.status().message());
    co_return answer;
  }
  bool all_gone = true;
  for (const std::string& address : *addresses) {
    error_code error;
    const Tcp::endpoint endpoint(asio::ip::make_address(address, error), other->machine.port);
    answer = co_await AskAt(endpoint, other, question);
    if (answer.status.ok()) break;
    all_gone = all_gone && answer.gone;
  }
  answer.gone = !answer.status.ok() && all_gone;
  co_return answer;
}

asio::awaitable<Agreement::Answer> Agreement::AskAt(Tcp::endpoint endpoint, const Other* other,
                                                    const RegroupMessage& question) {
  Answer answer;
  error_code error;
  auto connection = std::make_shared<Connection>(Tcp::socket(io_));
  const SocketDeadline deadline(connection, kAnswerMax);
  co_await connection->socket().async_connect(endpoint,
                                              asio::redirect_error(asio::use_awaitable, error));
  if (error) {
    answer.gone = error == asio::error::connection_refused;
    answer.status = Lost(deadline.passed() ? "gives no answer" : error.message());
    co_return answer;
  }
  connection->Prepare();
  const LinkHello hello{.purpose = LinkPurpose::kRegroup,
                        .job = job_,
                        .world = static_cast<uint32_t>(world_),
                        .from = static_cast<uint32_t>(group_.rank),
                        .to = static_cast<uint32_t>(other->rank),
                        .process = process_,
                        .nonce = MakeLinkNonce()};
  answer.status = co_await DialHandshake(*connection, hello, proof_);
  if (answer.status.ok()) {
    Result<RegroupMessage> reply = co_await AskRegroup(*connection, question);
    answer.status = reply.status();
    if (reply.ok()) answer.message = std::move(reply).value();
  }
  if (deadline.passed()) answer.status = Lost("gives no answer");
  co_return answer;
}

Agreement::Task Agreement::AskInto(Question* question, size_t* open, asio::steady_timer* all_done) {
  question->answer = co_await Ask(question->whom, question->message);
  if (--*open == 0) all_done->cancel();
}

Agreement::Task Agreement::AskAll(std::vector<Question>* questions) {
  size_t open = questions->size();
  if (open == 0) co_return;
  asio::steady_timer all_done(io_, asio::steady_timer::time_point::max());
  for (Question& question : *questions) {
    asio::co_spawn(io_, AskInto(&question, &open, &all_done), asio::detached);
  }
  error_code woken;
  co_await all_done.async_wait(asio::redirect_error(asio::use_awaitable, woken));
}

}  // namespace strata::link_internal
