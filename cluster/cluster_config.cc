#include "cluster/cluster_config.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/file/text_file.h"
#include "base/hash.h"
#include "base/human_text.h"
#include "cluster/topology/host_pattern.h"

namespace strata {
namespace {

constexpr uint32_t kBoth = kProgramServer | kProgramWorker;
constexpr uint64_t kListBytesMax = 16ULL << 20;
constexpr uint64_t kSecretBytesMax = 4096;
constexpr uint64_t kSecretBytesMin = 16;  // fewer can be guessed
constexpr uint64_t kChoicesBytesMax = 1ULL << 20;
constexpr double kSecondBound = 1e9;
constexpr double kDayBound = 86400e9;

constexpr Setting kSettings[] = {
    {.key = "config",
     .help = "Path of cluster.toml. Without it: no cluster, or one server on loopback.",
     .flag = "config",
     .programs = kBoth,
     .in_file = false},
    {.key = "rank",
     .type = SettingType::kInt,
     .default_value = "-1",
     .help = "Rank of this process within its role in the machine list. -1: found by the listening "
             "port and this machine's addresses.",
     .min = -1,
     .max = 1e6,
     .flag = "rank",
     .programs = kBoth,
     .in_file = false},
    {.key = "cluster.name",
     .default_value = "strata",
     .help = "Name of the cluster. Its hash is the cluster id that every message carries, so that "
             "nobody talks to another cluster by mistake."},
    {.key = "cluster.machines",
     .help =
         "Path of the machine list, relative to the file that names it: lines \"host:port role\", "
         "LightGBM's \"ip port\", or Open MPI's \"host slots=N\".",
     .flag = "machines",
     .programs = kBoth},
    {.key = "cluster.servers",
     .help = "\"host:port,host:port\": the servers in rank order, for a machine list that names "
             "none (Open MPI's and LightGBM's forms list workers alone) or none at all.",
     .flag = "servers",
     .programs = kBoth},
    {.key = "cluster.launcher",
     .type = SettingType::kChoice,
     .default_value = "auto",
     .help = "Whose variables say which rank a worker is, unless --rank does: those of Slurm, Open "
             "MPI, PMI, torchrun and Kubernetes, which must agree where several are set, one's "
             "alone, or "
             "none's. docs/launching.md.",
     .choices = "auto|slurm|openmpi|pmi|torchrun|kubernetes|none",
     .flag = "launcher",
     .programs = kProgramWorker},
    {.key = "cluster.secret_file",
     .help =
         "Path of a file with the secret that workers and the admin tool prove to each other: at "
         "least 16 bytes, in a file that others cannot read (chmod 600). It never travels. "
         "Empty: no secret.",
     .flag = "secret_file",
     .programs = kBoth},
    {.key = "cluster.insecure",
     .type = SettingType::kBool,
     .default_value = "false",
     .help = "Allow servers, and workers with neither secret nor TLS, to listen beyond loopback. "
             "Whoever reaches the port may then read and change everything.",
     .flag = "insecure",
     .programs = kBoth},
    {.key = "tls.certificate",
     .help = "Path of a PEM file with the certificate of this machine's workers and admin tool, "
             "those between it and the CA behind it. With tls.key and tls.ca workers speak TLS 1.3 "
             "with each other and with the admin tool, and turn away whoever has no certificate "
             "that the CA has signed. SERVERS TAKE NO PART: what goes to and from them is neither "
             "encrypted nor authenticated, with or without this. docs/security.md."},
    {.key = "tls.key", .help = "Path of the PEM file with its private key, without a password."},
    {.key = "tls.ca",
     .help = "Path of a PEM file with the certificates of those who sign this cluster's members, "
             "and nobody else's."},
    {.key = "server.host",
     .default_value = "127.0.0.1",
     .help = "Address on which a server without a machine list listens.",
     .flag = "host",
     .programs = kProgramServer},
    {.key = "server.port",
     .type = SettingType::kInt,
     .default_value = "7600",
     .help =
         "Port on which a server without a machine list listens, 0 for a free one. With a list: "
         "tells the entries of one machine apart.",
     .min = 0,
     .max = 65535,
     .flag = "port",
     .programs = kProgramServer},
    {.key = "server.lanes",
     .type = SettingType::kInt,
     .default_value = "1",
     .help = "Lanes (threads with tables of their own) of a server without a machine list; a list "
             "says lanes=N, and a server refuses to start with another number here. Lanes after "
             "the first listen on ports of their own, which the system "
             "picks and the server tells its clients (HELLO): a firewall must let them through.",
     .min = 1,
     .max = 1024,
     .flag = "lanes",
     .programs = kProgramServer},
    {.key = "server.memory",
     .type = SettingType::kBytes,
     .default_value = "0",
     .help =
         "Most memory for the rows of one server, 0 for no limit. Above it pushes that create "
         "rows are refused. With GPUs it is for the rows that they have no room for. The process "
         "takes more, for queues, buffers and its own code: docs/durability.md, Limits.",
     .min = 0,
     .flag = "memory",
     .programs = kProgramServer},
    {.key = "server.device",
     .default_value = "cpu",
     .help =
         "Where the rows of a server lie: cpu, in host memory; cuda, in the memory of the GPUs "
         "that the process sees (CUDA_VISIBLE_DEVICES), which its lanes take in turns: each lane "
         "uses one, so that fewer lanes leave GPUs alone; cuda:N, in that of GPU N; auto, on GPUs "
         "where there are any that will do. What a GPU has no room for stays in host memory, or "
         "goes on to the cold tier.",
     .flag = "device",
     .programs = kProgramServer},
    {.key = "server.gpu_memory",
     .type = SettingType::kBytes,
     .default_value = "0",
     .help = "Memory of each GPU that is taken for rows, at the start, 0 for 85 % of what is free. "
             "Rows beyond it lie in host memory (server.memory). What is left is for batches on "
             "their way, and half of it beyond 512MiB for collections of item sets. What is not 0 "
             "is at least 32MiB, and rounded down to whole 32MiB.",
     .min = 0,
     .flag = "gpu_memory",
     .programs = kProgramServer},
    {.key = "server.cold",
     .type = SettingType::kBool,
     .default_value = "false",
     .help = "Rows that server.memory has no room for go to the folder 'cold' in the data folder: "
             "tables may be far larger than memory. It is emptied at start and filled again from "
             "checkpoint and log. Needs server.data, and server.memory of at least 16MiB.",
     .flag = "cold",
     .programs = kProgramServer},
    {.key = "server.cold_bytes_max",
     .type = SettingType::kBytes,
     .default_value = "0",
     .help = "Most bytes in that folder, but for 1MiB of its small files; 0 for what the disk has. "
             "Rows get half, the merging of their files the other. Pushes that need more are "
             "refused with DISK_FULL.",
     .min = 0},
    {.key = "server.cold_keep",
     .type = SettingType::kChoice,
     .default_value = "lru",
     .help =
         "Which rows stay in memory with server.cold, and on a GPU: lru, those touched last; lfu, "
         "those pushed most.",
     .choices = "lru|lfu"},
    {.key = "server.admit_from",
     .type = SettingType::kInt,
     .default_value = "1",
     .help = "The push of a key from which on it gets a row, with server.cold; earlier "
             "ones are only counted.",
     .min = 1,
     .max = 1e6},
    {.key = "server.ttl_steps",
     .type = SettingType::kInt,
     .default_value = "0",
     .help = "Steps without a push after which a row is gone, with server.cold; 0: it "
             "stays, as do rows that were put and never pushed. No pull, scan or checkpoint has it "
             "any more, but counts of rows and the disk may until the next start.",
     .min = 0,
     .max = 1e15},
    {.key = "server.queue_memory",
     .type = SettingType::kBytes,
     .default_value = "256MiB",
     .help = "Most bytes of requests that wait in one lane; half of it is shared among the clients "
             "as what they may have under way. Also the most bytes of replies of a lane that wait "
             "for one client to read them.",
     .min = 1 << 20},
    {.key = "server.shared_memory",
     .type = SettingType::kBool,
     .default_value = "true",
     .help =
         "Whether servers and their clients of one host exchange through memory that they share "
         "instead of tcp. It is enough that one of two does not want it.",
     .flag = "server_shared_memory",
     .programs = kBoth},
    {.key = "server.data",
     .help = "Folder in which a server keeps its state, so that acknowledged writes survive its "
             "process; each server needs one of its own. Empty: memory only, which a server that a "
             "machine list names refuses without server.memory_only. Relative to the file "
             "that names it.",
     .flag = "data",
     .programs = kProgramServer},
    {.key = "server.memory_only",
     .type = SettingType::kBool,
     .default_value = "false",
     .help = "The servers of a machine list keep their state in memory alone, and lose it when "
             "their process ends. Without it such a server needs server.data. A server that no "
             "list names may start without either, and its log has a warning then.",
     .flag = "memory_only",
     .programs = kProgramServer},
    {.key = "server.log_bytes_max",
     .type = SettingType::kBytes,
     .default_value = "0",
     .help = "Most bytes of a server's logs, all lanes together, 0 for no limit. Above it writes "
             "are refused with DISK_FULL, until a checkpoint lets older records go. At least 16KiB "
             "a lane.",
     .min = 0},
    {.key = "server.checkpoints",
     .help =
         "Folder of the cluster's checkpoints, one for all servers: on a file system that they "
         "share. Empty: 'checkpoints' in the data folder of a server that stands alone; several "
         "servers then keep no checkpoints. Relative to the file that names it.",
     .flag = "checkpoints",
     .programs = kProgramServer},
    {.key = "server.checkpoints_kept",
     .type = SettingType::kInt,
     .default_value = "3",
     .help = "How many of the newest checkpoints stay: of each of the last 16 jobs that took one, "
             "and as many of those by strata-admin, besides those that they build on and those "
             "that logs begin "
             "behind.",
     .min = 2,
     .max = 1e6},
    {.key = "worker.port",
     .type = SettingType::kInt,
     .default_value = "0",
     .help = "Listening port of this worker in the machine list: tells the entries of one machine "
             "apart. Where nothing lists ports (worker.hosts, Open MPI's form, Slurm's variables): "
             "that of each host's first worker, the next one has the next. 0: not given.",
     .min = 0,
     .max = 65535,
     .flag = "port",
     .programs = kProgramWorker},
    {.key = "worker.hosts",
     .help =
         "Hosts of the workers in rank order, for a machine list that names none: "
         "\"node[01-04],login\", or the pods of a StatefulSet, \"trainer-[0-3].trainer\". Needs "
         "worker.port.",
     .flag = "hosts",
     .programs = kProgramWorker},
    {.key = "worker.rendezvous",
     .help =
         "\"host:port\" where worker 0 listens and the others find it and each other: instead "
         "of a list of the workers. They listen on ports that the system picks, or worker.port.",
     .flag = "rendezvous",
     .programs = kBoth},
    {.key = "worker.world",
     .type = SettingType::kInt,
     .default_value = "0",
     .help = "How many workers meet at worker.rendezvous. 0: as a launcher's variables say.",
     .min = 0,
     .max = 65536,
     .flag = "world",
     .programs = kProgramWorker},
    {.key = "collective.choices",
     .help = "Path of the table that says which algorithm a collective takes for how many ranks "
             "and bytes, relative to the file that names it: written by strata-bench collective "
             "--tune=FILE, the same on all workers. Empty: the built-in one. docs/collectives.md.",
     .flag = "choices",
     .programs = kProgramWorker},
    {.key = "collective.algorithms",
     .help = "Algorithms that are taken whatever the table says, \"allreduce=ring,"
             "broadcast=binomial\": the same on all workers.",
     .flag = "algorithms",
     .programs = kProgramWorker},
    {.key = "collective.shared_memory",
     .type = SettingType::kBool,
     .default_value = "true",
     .help = "Whether workers of one host exchange through memory that they share instead of "
             "sockets. It is enough that one of two does not want it.",
     .flag = "shared_memory",
     .programs = kProgramWorker},
    {.key = "http.host",
     .default_value = "127.0.0.1",
     .help = "Address of /metrics, /healthz and /readyz."},
    {.key = "http.port",
     .type = SettingType::kInt,
     .default_value = "0",
     .help = "Port of /metrics, /healthz and /readyz: 0 picks a free one, -1 turns them off.",
     .min = -1,
     .max = 65535,
     .flag = "http_port",
     .programs = kBoth},
    {.key = "timeouts.request",
     .type = SettingType::kDuration,
     .default_value = "30s",
     .help = "Longest wait for the answer to a request, retries included, while all servers serve: "
             "timeouts.server_lost says how long one may be away.",
     .min = kSecondBound / 1000,
     .max = kDayBound},
    {.key = "timeouts.server_lost",
     .type = SettingType::kDuration,
     .default_value = "30s",
     .help = "How long a job waits for a server that does not serve: it is silent, starts again, "
             "replays its log or loads a checkpoint. Then the server counts as lost, and the job "
             "ends.",
     .min = kSecondBound / 10,
     .max = kDayBound},
    {.key = "timeouts.peer_lost",
     .type = SettingType::kDuration,
     .default_value = "10s",
     .help = "Silence after which another worker counts as lost. Heartbeats go out every second.",
     .min = 3 * kSecondBound,
     .max = kDayBound},
    {.key = "timeouts.connect",
     .type = SettingType::kDuration,
     .default_value = "60s",
     .help = "Longest wait at start until all workers of the job are there.",
     .min = kSecondBound / 10,
     .max = kDayBound},
    {.key = "timeouts.collective",
     .type = SettingType::kDuration,
     .default_value = "10min",
     .help = "Longest wait for one exchange of a collective with ranks that are alive.",
     .min = kSecondBound,
     .max = kDayBound},
    {.key = "timeouts.shutdown",
     .type = SettingType::kDuration,
     .default_value = "10s",
     .help = "Time to finish requests, and to hear the others' goodbye, before the process ends.",
     .min = 0,
     .max = kDayBound},
    {.key = "log.level",
     .type = SettingType::kChoice,
     .default_value = "info",
     .help = "Least severe level that is logged.",
     .choices = "debug|info|warning|error|off",
     .flag = "log_level",
     .programs = kBoth},
    {.key = "log.file",
     .help = "File that log lines go to; SIGHUP opens it anew. Empty: stderr, and servers ignore "
             "SIGHUP.",
     .flag = "log_file",
     .programs = kBoth},
};

// A path as the setting's file or flag means it.
std::string PathOf(const Settings& settings, std::string_view key) {
  const std::string& path = settings.Text(key);
  const std::string origin = settings.Origin(key);
  if (path.empty() || path.starts_with('/') || origin.starts_with("--")) return path;
  const size_t slash = origin.rfind('/');
  return slash == std::string::npos ? path : origin.substr(0, slash + 1) + path;
}

std::optional<uint16_t> PortOf(const Settings& settings, std::string_view key) {
  if (!settings.IsSet(key) || settings.Int(key) == 0) return std::nullopt;
  return static_cast<uint16_t>(settings.Int(key));
}

Status ReadMachines(const Settings& settings, Disk& disk, ClusterConfig* config) {
  const std::string path = PathOf(settings, "cluster.machines");
  if (path.empty()) return {};
  auto text = ReadTextFile(disk, path, kListBytesMax);
  if (!text.ok()) {
    return Invalid(fmt::format("{}: cannot read the machine list: {}",
                               settings.Origin("cluster.machines"), text.status().message()));
  }
  const uint16_t first_port = PortOf(settings, "worker.port").value_or(0);
  STRATA_ASSIGN(config->machines, ParseMachineList(*text, path, first_port));
  return {};
}

// A setting that completes the machine list, and that list, do not both name machines of a role.
Status CheckNoneListed(const MachineList& list, Role role, const std::string& origin,
                       std::string_view setting) {
  if (list.Of(role).empty()) return {};
  return Invalid(fmt::format(
      "{}: {} is for a machine list without {}s, but {} lists some: keep one of the two", origin,
      setting, RoleName(role), list.file));
}

// Puts the servers of cluster.servers in front.
Status AddServers(const Settings& settings, ClusterConfig* config) {
  const std::string& text = settings.Text("cluster.servers");
  if (text.empty()) return {};
  const std::string origin = settings.Origin("cluster.servers");
  MachineList& list = config->machines;
  STRATA_TRY(CheckNoneListed(list, Role::kServer, origin, "cluster.servers"));
  std::string lines;
  for (const char c : text) lines += c == ',' ? std::string(" server\n") : std::string(1, c);
  STRATA_ASSIGN(MachineList servers,
                ParseMachineList(lines + " server\n", origin + ": cluster.servers"));
  for (Machine& server : servers.machines) server.line = server.column = 0;  // of no file
  list.machines.insert(list.machines.begin(), servers.machines.begin(), servers.machines.end());
  if (list.file.empty()) list.file = servers.file;
  return {};
}

// Appends the workers of worker.hosts.
Status AddHosts(const Settings& settings, ClusterConfig* config) {
  const std::string& text = settings.Text("worker.hosts");
  if (text.empty()) return {};
  const std::string origin = settings.Origin("worker.hosts");
  const auto first_port = PortOf(settings, "worker.port");
  if (!first_port) {
    return Invalid(fmt::format("{}: worker.hosts needs worker.port, where they listen", origin));
  }
  STRATA_TRY(CheckNoneListed(config->machines, Role::kWorker, origin, "worker.hosts"));
  STRATA_ASSIGN(const std::vector<std::string> hosts, ExpandHosts(text, origin + ": worker.hosts"));
  STRATA_ASSIGN(const std::vector<Machine> workers, WorkersOn(hosts, *first_port));
  config->machines.machines.insert(config->machines.machines.end(), workers.begin(), workers.end());
  return {};
}

Status ReadRendezvous(const Settings& settings, ClusterConfig* config) {
  config->world = static_cast<int>(settings.Int("worker.world"));
  const std::string& text = settings.Text("worker.rendezvous");
  const std::string origin = settings.Origin("worker.rendezvous");
  if (text.empty()) {
    if (config->world == 0) return {};
    return Invalid(fmt::format("{}: worker.world has no effect without worker.rendezvous",
                               settings.Origin("worker.world")));
  }
  if (!config->machines.Of(Role::kWorker).empty()) {
    const std::string& hosts = settings.Text("worker.hosts");
    return Invalid(
        fmt::format("{}: worker.rendezvous is for workers that nothing lists, but {} lists some: "
                    "keep one of the two",
                    origin,
                    hosts.empty() ? config->machines.file
                                  : settings.Origin("worker.hosts") + ": worker.hosts"));
  }
  STRATA_ASSIGN(const MachineList parsed,
                ParseMachineList(text + " worker", origin + ": worker.rendezvous"));
  config->rendezvous = parsed.machines.at(0);
  return {};
}

Status ReadChoices(const Settings& settings, Disk& disk, ClusterConfig* config) {
  if (const std::string path = PathOf(settings, "collective.choices"); !path.empty()) {
    auto text = ReadTextFile(disk, path, kChoicesBytesMax);
    if (!text.ok()) {
      return Invalid(fmt::format("{}: cannot read the table of choices: {}",
                                 settings.Origin("collective.choices"), text.status().message()));
    }
    STRATA_ASSIGN(config->choices, ChoiceTable::Parse(*text, path));
  }
  return {};
}

Status ReadAlgorithms(const Settings& settings, ClusterConfig* config) {
  const std::string& preferred = settings.Text("collective.algorithms");
  if (preferred.empty()) return {};
  STRATA_ASSIGN(config->choices,
                config->choices.Preferring(preferred, settings.Origin("collective.algorithms")));
  return {};
}

Status ReadTls(const Settings& settings, ClusterConfig* config) {
  config->tls = {.certificate = PathOf(settings, "tls.certificate"),
                 .key = PathOf(settings, "tls.key"),
                 .ca = PathOf(settings, "tls.ca")};
  std::string given;
  std::vector<std::string_view> missing;
  for (const std::string_view key : {"tls.certificate", "tls.key", "tls.ca"}) {
    if (settings.Text(key).empty()) {
      missing.push_back(key);
    } else if (given.empty()) {
      given = settings.Origin(key);
    }
  }
  if (given.empty() || missing.empty()) return {};
  return Invalid(fmt::format(
      "{}: {} missing: tls.certificate, tls.key and tls.ca are to be set together, or none of them",
      given,
      missing.size() == 1 ? fmt::format("{} is", missing[0])
                          : fmt::format("{} and {} are", missing[0], missing[1])));
}

Status ReadSecret(const Settings& settings, Disk& disk, ClusterConfig* config) {
  const std::string path = PathOf(settings, "cluster.secret_file");
  if (path.empty()) return {};
  const std::string origin = settings.Origin("cluster.secret_file");
  auto text = ReadFile(disk, path, kSecretBytesMax);
  if (text.ok()) {
    if (const Status closed = CheckClosedToOthers(disk, path); !closed.ok()) text = closed;
  }
  if (!text.ok()) {
    return Invalid(fmt::format("{}: cannot read the secret: {}", origin, text.status().message()));
  }
  if (text->starts_with(kByteOrderMark)) {
    return Invalid(fmt::format(
        "{}: {} begins with a byte order mark, which an editor added and which would "
        "belong to the secret: save the file without it (sed -i '1s/^\\xef\\xbb\\xbf//' "
        "FILE)",
        origin, path));
  }
  const size_t end = text->find_last_not_of(" \t\r\n");
  if (end == std::string::npos) {
    return Invalid(
        fmt::format("{}: {} is empty; expected a secret, for instance 32 random bytes "
                    "in base64",
                    origin, path));
  }
  if (end + 1 < kSecretBytesMin) {
    return Invalid(
        fmt::format("{}: {} holds a secret of {}; expected at least {}, for instance 32 "
                    "random bytes in base64 (head -c 32 /dev/urandom | base64)",
                    origin, path, Counted(end + 1, "byte"), kSecretBytesMin));
  }
  config->secret = text->substr(0, end + 1);
  return {};
}

}  // namespace

const SettingsTable& ClusterSettingsTable() {
  static constexpr SettingsTable kTable = {
      .title = "cluster.toml", .settings = kSettings, .repeated = {}};
  return kTable;
}

uint64_t ClusterConfig::cluster_id() const { return Hash64(name); }

std::vector<std::string> ServerProblems(const ClusterConfig& config, int lanes) {
  std::vector<std::string> problems;
  const auto blame = [&](std::string_view key, std::string_view problem) {
    const auto origin = config.origins.find(key);
    problems.push_back(origin == config.origins.end()
                           ? fmt::format("{} {}", key, problem)
                           : fmt::format("{}: {} {}", origin->second, key, problem));
  };
  if (config.origins.contains("server.lanes") && config.lanes != lanes) {
    blame("server.lanes",
          fmt::format("has no effect with a machine list ({}), which is for all servers to know: "
                      "found {} here and {} there; leave it out, or write lanes={} there",
                      config.machines.file, config.lanes, lanes, config.lanes));
  }
  if (config.memory_only && !config.data.empty()) {
    blame("server.memory_only", "contradicts server.data (--data): leave one of the two out");
  }
  if (config.cold && config.data.empty()) {
    blame("server.cold", "needs server.data (--data), the folder in which its rows go to disk");
  }
  if (config.cold && config.memory_bytes_max < kColdMemoryMin) {
    blame("server.cold", fmt::format("needs server.memory (--memory), how much of the tables stays "
                                     "in memory: expected at least {} MiB, found {} bytes",
                                     kColdMemoryMin >> 20, config.memory_bytes_max));
  }
  constexpr uint64_t kGpuMemoryMin = uint64_t{32} << 20;  // what it is taken in pieces of
  if (config.gpu_memory_bytes != 0 && config.gpu_memory_bytes < kGpuMemoryMin) {
    blame("server.gpu_memory",
          fmt::format("is to be 0, which takes most of what is free, or at least 32 MiB, found {} "
                      "bytes ({})",
                      config.gpu_memory_bytes, HumanBytes(config.gpu_memory_bytes)));
  }
  if (config.gpu_memory_bytes != 0 && config.device.kind == DeviceKind::kCpu) {
    blame("server.gpu_memory", "has no effect without server.device (--device) cuda or auto");
  }
  const ClusterConfig usual;
  const std::pair<std::string_view, bool> of_cold[] = {
      {"server.cold_bytes_max", config.cold_bytes_max != usual.cold_bytes_max},
      {"server.cold_keep", config.cold_keep != usual.cold_keep &&
                               config.device.kind == DeviceKind::kCpu},  // GPUs go by it, too
      {"server.admit_from", config.admit_from != usual.admit_from},
      {"server.ttl_steps", config.ttl_steps != usual.ttl_steps},
  };
  for (const auto& [key, given] : of_cold) {
    if (given && !config.cold) blame(key, "has no effect without server.cold (--cold)");
  }
  if (config.log_bytes_max != 0 && config.data.empty()) {
    blame("server.log_bytes_max", "has no effect without server.data (--data): there is no log");
  }
  const uint64_t log_min = kLaneLogBytesMin * static_cast<uint64_t>(lanes);
  if (config.log_bytes_max != 0 && config.log_bytes_max < log_min) {
    blame("server.log_bytes_max",
          fmt::format("is to be 0, which is no limit, or at least {} KiB "
                      "for each lane, {} bytes for {}; found {}",
                      kLaneLogBytesMin >> 10, log_min,
                      Counted(static_cast<uint64_t>(lanes), "lane"), config.log_bytes_max));
  }
  const bool alone = config.machines.Of(Role::kServer).size() <= 1;
  const bool keeps = !config.checkpoints.empty() || (alone && !config.data.empty());
  if (config.checkpoints_kept != usual.checkpoints_kept && !keeps) {
    blame("server.checkpoints_kept",
          alone ? "has no effect without server.data (--data) or server.checkpoints"
                : "has no effect without server.checkpoints: several servers keep checkpoints only "
                  "in a folder that all of them share");
  }
  return problems;
}

Result<ClusterConfig> MakeClusterConfig(const Settings& settings, Disk& disk) {
  ClusterConfig config;
  config.name = settings.Text("cluster.name");
  if (config.name.empty()) {
    return Invalid(
        fmt::format("{}: cluster.name is empty; expected a name", settings.Origin("cluster.name")));
  }
  config.insecure = settings.Bool("cluster.insecure");
  config.launcher = ParseLauncher(settings.Text("cluster.launcher"));
  if (settings.Int("rank") >= 0) config.rank = static_cast<int>(settings.Int("rank"));
  config.port = PortOf(settings, "server.port");
  config.worker_port = PortOf(settings, "worker.port");
  config.server_host = settings.Text("server.host");
  config.server_port = static_cast<uint16_t>(settings.Int("server.port"));
  config.lanes = static_cast<uint16_t>(settings.Int("server.lanes"));
  config.memory_bytes_max = settings.Bytes("server.memory");
  const Result<DeviceChoice> device = ParseDevice(settings.Text("server.device"));
  if (!device.ok()) {
    return device.status().Prefixed(settings.Origin("server.device") + ": server.device");
  }
  config.device = *device;
  config.gpu_memory_bytes = settings.Bytes("server.gpu_memory");
  config.cold = settings.Bool("server.cold");
  config.cold_bytes_max = settings.Bytes("server.cold_bytes_max");
  config.cold_keep = settings.Text("server.cold_keep");
  config.admit_from = static_cast<uint32_t>(settings.Int("server.admit_from"));
  config.ttl_steps = static_cast<uint64_t>(settings.Int("server.ttl_steps"));
  config.queue_bytes_max = settings.Bytes("server.queue_memory");
  config.server_shared_memory = settings.Bool("server.shared_memory");
  config.data = PathOf(settings, "server.data");
  config.memory_only = settings.Bool("server.memory_only");
  config.shared_memory = settings.Bool("collective.shared_memory");
  config.log_bytes_max = settings.Bytes("server.log_bytes_max");
  config.checkpoints = PathOf(settings, "server.checkpoints");
  config.checkpoints_kept = static_cast<uint32_t>(settings.Int("server.checkpoints_kept"));
  config.http_host = settings.Text("http.host");
  config.http_port = static_cast<int>(settings.Int("http.port"));
  config.request_timeout = settings.Duration("timeouts.request");
  config.server_lost_after = settings.Duration("timeouts.server_lost");
  config.peer_lost_after = settings.Duration("timeouts.peer_lost");
  config.connect_timeout = settings.Duration("timeouts.connect");
  config.collective_timeout = settings.Duration("timeouts.collective");
  config.shutdown_timeout = settings.Duration("timeouts.shutdown");
  config.log_level = settings.Text("log.level");
  config.log_file = settings.Text("log.file");
  for (const Setting& setting : kSettings) {
    const bool wanted = setting.key.starts_with("server.") || setting.key.starts_with("tls.");
    if (!wanted || !settings.IsSet(setting.key)) continue;
    config.origins.emplace(setting.key, settings.Origin(setting.key));
  }
  const Status machines = ReadMachines(settings, disk, &config);
  const Status secret = ReadSecret(settings, disk, &config);
  const Status choices = ReadChoices(settings, disk, &config);
  const Status algorithms = ReadAlgorithms(settings, &config);
  std::string problems;
  for (const Status& read : {machines, secret, choices, algorithms}) {
    if (!read.ok()) problems += (problems.empty() ? "" : "\n") + read.message();
  }
  if (!problems.empty()) return Invalid(problems);
  STRATA_TRY(ReadTls(settings, &config));
  STRATA_TRY(AddServers(settings, &config));
  STRATA_TRY(AddHosts(settings, &config));
  STRATA_TRY(ReadRendezvous(settings, &config));
  return config;
}

Status CheckRankHasList(const ClusterConfig& config, std::string_view more) {
  if (!config.rank || !config.machines.machines.empty() || config.rendezvous) return {};
  return Invalid(
      fmt::format("--rank needs a machine list: set {}cluster.machines, or --machines, or name "
                  "worker 0 by --rendezvous",
                  more));
}

}  // namespace strata
