#include "tests/support/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "strata/status.h"
#include "tests/support/wait_until.h"

namespace strata {
namespace {

int MemoryFile(const char* name, const std::string& content) {
  const int fd = memfd_create(name, MFD_CLOEXEC);
  STRATA_CHECK(fd >= 0);
  STRATA_CHECK(pwrite(fd, content.data(), content.size(), 0) ==
               static_cast<ssize_t>(content.size()));
  return fd;
}

std::string ReadAll(int fd) {
  struct stat info {};
  STRATA_CHECK(fstat(fd, &info) == 0);
  std::string content(static_cast<size_t>(info.st_size), '\0');
  const ssize_t got = pread(fd, content.data(), content.size(), 0);
  STRATA_CHECK(got >= 0);
  content.resize(static_cast<size_t>(got));
  return content;
}

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> Environment(const std::map<std::string, std::string>& added) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string text(*variable);
    if (!added.contains(text.substr(0, text.find('=')))) variables.push_back(text);
  }
  for (const auto& [name, value] : added) {
    variables.push_back(name);
    variables.back().append("=").append(value);
  }
  return variables;
}

// What the child needs; made before fork, after which only async-signal-safe calls are allowed.
struct Launch {
  pid_t parent;
  int input;
  int output;
  int errors;
  const char* folder;  // nullptr: stay
  char** arguments;
  char** environment;
};

[[noreturn]] void RunChild(const Launch& launch) {
  // Dies with the test; if that is gone already, at once.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != launch.parent) _exit(127);
  setpgid(0, 0);  // a group of its own, to be killed as a whole
  dup2(launch.input, STDIN_FILENO);
  dup2(launch.output, STDOUT_FILENO);
  dup2(launch.errors, STDERR_FILENO);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int ignored : {SIGPIPE, SIGXFSZ}) signal(ignored, SIG_DFL);
  if (launch.folder == nullptr || chdir(launch.folder) == 0) {
    execve(launch.arguments[0], launch.arguments, launch.environment);
  }
  const char* reason = strerrordesc_np(errno);
  for (const char* text :
       {"cannot run ", static_cast<const char*>(launch.arguments[0]), ": ", reason, "\n"}) {
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, strlen(text));
  }
  _exit(127);
}

}  // namespace

Process::Process(std::string program, ProcessOptions options)
    : output_(MemoryFile("stdout", "")), errors_(MemoryFile("stderr", "")) {
  const int input = MemoryFile("stdin", options.input);
  // Both write at the end, as if they wrote to a log.
  STRATA_CHECK(fcntl(output_, F_SETFL, O_APPEND) == 0 && fcntl(errors_, F_SETFL, O_APPEND) == 0);
  std::vector<std::string> words = std::move(options.arguments);
  words.insert(words.begin(), std::move(program));
  std::vector<std::string> variables = Environment(options.environment);
  std::vector<char*> arguments = Pointers(words);
  std::vector<char*> environment = Pointers(variables);
  const char* folder = options.folder.empty() ? nullptr : options.folder.c_str();
  const Launch launch{getpid(),          input, output_, errors_, folder, arguments.data(),
                      environment.data()};
  pid_ = fork();
  STRATA_CHECK(pid_ >= 0);
  if (pid_ == 0) RunChild(launch);
  close(input);
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      output_(std::exchange(other.output_, -1)),
      errors_(std::exchange(other.errors_, -1)),
      end_(other.end_) {}

Process::~Process() {
  if (pid_ < 0) return;
  if (Running()) {
    kill(-pid_, SIGKILL);
    kill(pid_, SIGKILL);  // it may not have come to make its group yet
  }
  Wait();
  close(output_);
  close(errors_);
}

void Process::Signal(int signal) {
  // Not reaped yet, so the id cannot mean another process.
  if (Running()) kill(pid_, signal);
}

std::optional<ProcessEnd> Process::Wait(TimeNs patience) {
  WaitUntil([&] { return !Running(); }, patience);
  return end_;
}

bool Process::Running() {
  if (end_) return false;
  int status = 0;
  const pid_t got = waitpid(pid_, &status, WNOHANG);
  STRATA_CHECK(got == 0 || got == pid_);
  if (got == 0) return true;
  end_ = WIFEXITED(status) ? ProcessEnd{WEXITSTATUS(status), 0} : ProcessEnd{-1, WTERMSIG(status)};
  return false;
}

std::string Process::Output() const { return ReadAll(output_); }
std::string Process::Errors() const { return ReadAll(errors_); }

bool Process::WaitForOutput(const std::string& text, TimeNs patience) {
  return WaitForText(output_, text, patience);
}
bool Process::WaitForErrors(const std::string& text, TimeNs patience) {
  return WaitForText(errors_, text, patience);
}

bool Process::WaitForText(int fd, const std::string& text, TimeNs patience) {
  bool found = false;
  WaitUntil(
      [&] {
        const bool ended = !Running();  // before reading: its last words count
        found = ReadAll(fd).find(text) != std::string::npos;
        return found || ended;
      },
      patience);
  return found;
}

ProcessResult RunProcess(const std::string& program, ProcessOptions options, TimeNs patience) {
  Process process(program, std::move(options));
  if (!process.Wait(patience)) process.Signal(SIGKILL);
  const ProcessEnd end = *process.Wait();
  return {end, process.Output(), process.Errors()};
}

ProcessResult RunOnFullDisk(const std::string& program, std::vector<std::string> arguments,
                            const std::string& what) {
  arguments.insert(arguments.begin(), {"-c", R"(exec "$0" "$@" )" + what + ">/dev/full", program});
  return RunProcess("/bin/sh", {.arguments = std::move(arguments)});
}

std::string ProgramPath(const std::string& name) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& folder : {here, here.parent_path() / "bin"}) {
    if (fs::exists(folder / name, error)) return folder / name;
  }
  return STRATA_PROGRAM_FOLDER "/" + name;
}

}  // namespace strata
