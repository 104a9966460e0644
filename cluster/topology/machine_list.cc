#include "cluster/topology/machine_list.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>

#include "base/file/text_file.h"
#include "base/human_text.h"

namespace strata {
namespace {

constexpr size_t kErrorsShown = 10;
constexpr int kSlotsMax = 4096;  // of one host
constexpr int kLanesMax = 1024;  // there are no more shards than that to give to lanes

// A word of a line and the column (from 1) at which it begins.
struct Word {
  std::string_view text;
  int column = 0;
};

std::vector<Word> SplitWords(std::string_view line) {
  line = line.substr(0, line.find('#'));
  std::vector<Word> words;
  constexpr std::string_view kBlank = " \t\r\f\v";
  for (size_t at = line.find_first_not_of(kBlank); at != std::string_view::npos;) {
    const size_t end = std::min(line.find_first_of(kBlank, at), line.size());
    words.push_back({line.substr(at, end - at), static_cast<int>(at) + 1});
    at = line.find_first_not_of(kBlank, end);
  }
  return words;
}

std::optional<int> ParseNumber(std::string_view text, int min, int max) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (value < min || value > max) return std::nullopt;
  return value;
}

bool IsHost(const std::string& host) {
  if (host.empty() || host.size() > 253) return false;
  if (host.find(':') != std::string::npos) {
    in6_addr address;
    return inet_pton(AF_INET6, host.substr(0, host.find('%')).c_str(), &address) == 1;
  }
  if (host.find_first_not_of("0123456789.") == std::string::npos) {
    in_addr address;
    return inet_pton(AF_INET, host.c_str(), &address) == 1;
  }
  return host.front() != '-' && std::ranges::all_of(host, [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
         });
}

// How a line names machines; a file has one form.
enum class Form : uint8_t { kClassic, kOurs, kHostFile };

std::string_view FormText(Form form) {
  if (form == Form::kClassic) return "\"host port\"";
  return form == Form::kOurs ? "\"host:port role\"" : "\"host slots=N\"";
}

bool IsSlots(std::string_view word) {
  return word.starts_with("slots=") || word.starts_with("max_slots=") ||
         word.starts_with("max-slots=");
}

class Parser {
 public:
  Parser(const std::string& file, uint16_t first_port) : first_port_(first_port) {
    list_.file = file;
  }

  void Line(std::string_view text) {
    ++line_;
    const std::vector<Word> words = SplitWords(text);
    if (words.empty()) return;
    const Form form = FormOf(words);
    Machine machine;
    machine.line = line_;
    machine.column = words[0].column;
    if (form == Form::kHostFile) {
      HostFile(words, std::move(machine));
      return;
    }
    if (!(form == Form::kClassic ? Classic(words, &machine) : Ours(words, text.size(), &machine))) {
      return;
    }
    CheckForm(words[0], form);
    Add(std::move(machine), words[0]);
  }

  Result<MachineList> Finish() {
    if (list_.machines.empty() && errors_.empty()) {
      errors_.push_back(fmt::format(
          "{}:1:1: the list names no machine; expected lines \"host:port role\"", list_.file));
    }
    if (errors_.empty()) return std::move(list_);
    std::string text;
    for (size_t i = 0; i < std::min(errors_.size(), kErrorsShown); ++i) {
      text += (i == 0 ? "" : "\n") + errors_[i];
    }
    if (errors_.size() > kErrorsShown) {
      text += fmt::format("\n{} in {}", Counted(errors_.size() - kErrorsShown, "more error"),
                          list_.file);
    }
    return Invalid(std::move(text));
  }

 private:
  Form FormOf(const std::vector<Word>& words) const {
    if (words[0].text.find(':') != std::string_view::npos) return Form::kOurs;
    if (words.size() == 1) return form_ == Form::kHostFile ? Form::kHostFile : Form::kOurs;
    if (IsSlots(words[1].text)) return Form::kHostFile;
    const bool number = std::isdigit(static_cast<unsigned char>(words[1].text[0])) != 0;
    return number ? Form::kClassic : Form::kOurs;
  }

  bool Error(int column, const std::string& what) {
    errors_.push_back(fmt::format("{}:{}:{}: {}", list_.file, line_, column, what));
    return false;
  }

  bool Port(std::string_view text, int column, Machine* machine) {
    const auto port = ParseNumber(text, 1, 65535);
    if (!port) {
      return Error(column, fmt::format("bad port '{}'; expected a number from 1 to 65535", text));
    }
    machine->port = static_cast<uint16_t>(*port);
    return true;
  }

  bool Host(std::string_view text, int column, Machine* machine) {
    machine->host = std::string(text);
    if (IsHost(machine->host)) return true;
    return Error(column, fmt::format("bad host '{}'; expected a host name, an IPv4 address or an "
                                     "IPv6 address in brackets",
                                     text));
  }

  bool Classic(const std::vector<Word>& words, Machine* machine) {
    if (!Host(words[0].text, words[0].column, machine)) return false;
    if (!Port(words[1].text, words[1].column, machine)) return false;
    if (words.size() == 2) return true;
    return Error(
        words[2].column,
        fmt::format("unexpected '{}' behind \"host port\"; roles and options need the form "
                    "\"{}:{} role\"",
                    words[2].text, words[0].text, words[1].text));
  }

  // A line stands for as many workers as it has slots; what a line does not say is 1.
  void HostFile(const std::vector<Word>& words, Machine machine) {
    if (!Host(words[0].text, words[0].column, &machine)) return;
    CheckForm(words[0], Form::kHostFile);
    int slots = 1;
    for (size_t i = 1; i < words.size(); ++i) {
      const size_t equals = words[i].text.find('=');
      const auto number = IsSlots(words[i].text)
                              ? ParseNumber(words[i].text.substr(equals + 1), 1, kSlotsMax)
                              : std::nullopt;
      if (!number) {
        Error(words[i].column, fmt::format("bad option '{}'; expected slots=N, N from 1 to {}",
                                           words[i].text, kSlotsMax));
        return;
      }
      if (words[i].text.starts_with("slots=")) slots = *number;
    }
    if (first_port_ == 0) {
      Error(words[0].column,
            "a host file names no ports; set worker.port, the port of a host's first worker");
      return;
    }
    for (int slot = 0; slot < slots; ++slot) {
      const int port = first_port_ + slots_[machine.host]++;
      if (port > 65535) {
        Error(words[0].column, fmt::format("{} has more slots than there are ports from {} on",
                                           machine.host, first_port_));
        return;
      }
      machine.port = static_cast<uint16_t>(port);
      Add(machine, words[0]);
    }
  }

  bool Ours(const std::vector<Word>& words, size_t line_size, Machine* machine) {
    if (!Address(words[0], machine)) return false;
    if (words.size() < 2) {
      return Error(static_cast<int>(line_size) + 1,
                   fmt::format("no role behind '{}'; expected server or worker", words[0].text));
    }
    if (words[1].text == "server") {
      machine->role = Role::kServer;
    } else if (words[1].text == "worker") {
      machine->role = Role::kWorker;
    } else {
      return Error(words[1].column,
                   fmt::format("unknown role '{}'; expected server or worker", words[1].text));
    }
    for (size_t i = 2; i < words.size(); ++i) {
      if (!Option(words[i], machine)) return false;
    }
    return true;
  }

  bool Address(const Word& word, Machine* machine) {
    const std::string_view text = word.text;
    if (text.starts_with("rank=")) {
      return Error(word.column,
                   "a list holds machines only; give the rank with --rank on the command line");
    }
    size_t host_end = text.find(':');
    size_t host_start = 0;
    if (text.starts_with('[')) {
      host_start = 1;
      host_end = text.find(']');
      if (host_end == std::string_view::npos) {
        return Error(word.column,
                     fmt::format("no closing bracket in '{}'; expected [ipv6]:port", text));
      }
    } else if (host_end != text.rfind(':')) {
      return Error(word.column,
                   fmt::format("'{}' has more than one colon; write an IPv6 address in brackets: "
                               "[2001:db8::1]:7600",
                               text));
    }
    const size_t colon = host_end + host_start;  // behind the bracket, if there is one
    if (host_end == std::string_view::npos || colon >= text.size() || text[colon] != ':') {
      return Error(word.column + static_cast<int>(std::min(colon, text.size())),
                   fmt::format("no port in '{}'; expected host:port", text));
    }
    const int host_column = word.column + static_cast<int>(host_start);
    return Host(text.substr(host_start, host_end - host_start), host_column, machine) &&
           Port(text.substr(colon + 1), word.column + static_cast<int>(colon) + 1, machine);
  }

  bool Option(const Word& word, Machine* machine) {
    const size_t equals = word.text.find('=');
    const std::string_view name = word.text.substr(0, equals);
    if (name != "lanes" || equals == std::string_view::npos) {
      return Error(word.column, fmt::format("unknown option '{}'; expected lanes=N", word.text));
    }
    if (machine->role != Role::kServer) {
      return Error(word.column, "lanes belong to servers; a worker has none");
    }
    const auto lanes = ParseNumber(word.text.substr(equals + 1), 1, kLanesMax);
    if (!lanes) {
      return Error(word.column + static_cast<int>(equals) + 1,
                   fmt::format("bad number of lanes '{}'; expected 1 to {}",
                               word.text.substr(equals + 1), kLanesMax));
    }
    machine->lanes = static_cast<uint16_t>(*lanes);
    return true;
  }

  void CheckForm(const Word& word, Form form) {
    if (!form_) {
      form_ = form;
      form_line_ = line_;
    } else if (*form_ != form) {
      Error(word.column, fmt::format("the forms {} and {} are mixed; line {} has the other one",
                                     FormText(std::min(form, *form_)),
                                     FormText(std::max(form, *form_)), form_line_));
    }
  }

  void Add(Machine machine, const Word& word) {
    std::string key = machine.Address();
    std::ranges::transform(key, key.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const auto [at, is_new] = lines_.emplace(std::move(key), line_);
    if (!is_new) {
      Error(word.column,
            fmt::format("{} is listed twice, first in line {}", machine.Address(), at->second));
      return;
    }
    machine.rank = next_rank_[static_cast<size_t>(machine.role)]++;
    list_.machines.push_back(std::move(machine));
  }

  MachineList list_;
  std::vector<std::string> errors_;
  std::map<std::string, int> lines_;  // address in lower case -> line
  std::map<std::string, int> slots_;  // of a host file, by host: so many so far
  std::optional<Form> form_;          // of the first machine
  const uint16_t first_port_;
  int form_line_ = 0;
  int line_ = 0;
  int next_rank_[2] = {0, 0};
};

}  // namespace

std::string_view RoleName(Role role) { return role == Role::kServer ? "server" : "worker"; }

std::string Machine::Address() const {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return is_ipv6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

std::string RankName(int rank, const Machine& machine) {
  return fmt::format("rank {} ({})", rank, machine.Address());
}

std::vector<Machine> MachineList::Of(Role role) const {
  std::vector<Machine> found;
  std::ranges::copy_if(machines, std::back_inserter(found),
                       [role](const Machine& machine) { return machine.role == role; });
  return found;
}

Result<MachineList> ParseMachineList(std::string_view text, const std::string& file,
                                     uint16_t first_port) {
  Parser parser(file, first_port);
  text = WithoutByteOrderMark(text);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    parser.Line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parser.Finish();
}

}  // namespace strata
