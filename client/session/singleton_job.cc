#include "client/session/singleton_job.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/posix/unique_fd.h"
#include "common/values/regex.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

constexpr uint32_t kSelf[] = {0};

std::string Encode(const Value& value) { return EncodeValue(value.raw()); }

std::string WorkingDirectory() {
  char path[4096];
  return getcwd(path, sizeof(path)) == nullptr ? "" : path;
}

// Returns the process's command line in the format of agents; empty if unknown.
std::string CommandLine() {
  constexpr size_t kLongest = size_t{64} << 10;
  const UniqueFd file(open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC));
  std::string line(kLongest, '\0');
  const ssize_t size = read(file.get(), line.data(), line.size());
  line.resize(size < 0 ? 0 : static_cast<size_t>(size));
  if (!line.empty() && line.back() == '\0') line.pop_back();
  std::ranges::replace(line, '\0', ' ');
  return line;
}

std::string TemporaryDirectory() {
  const char* directory = getenv("TMPDIR");
  return directory == nullptr || *directory == '\0' ? "/tmp" : directory;
}

}  // namespace

SingletonJob::SingletonJob(const std::string& nspace,
                           const std::string& hostname, const InfoList& more)
    : hostname_(hostname) {
  FillJob(nspace, hostname);
  FillMaps(hostname);
  FillNode(nspace, hostname);
  FillProc(nspace, hostname);
  for (const pmix_info_t& info : more) {
    const std::string key(KeyOf(info));
    job_[key] = proc_[key] = EncodeValue(info.value);
  }
}

std::unique_ptr<SingletonJob> SingletonJob::OfServer(
    const std::string& nspace, const std::string& hostname) {
  auto job = std::make_unique<SingletonJob>(nspace, hostname);
  job->proc_.clear();
  return job;
}

void SingletonJob::FillJob(const std::string& nspace,
                           const std::string& hostname) {
  const std::string one = Encode(Value::Uint32(1));
  const std::string zero_rank = Encode(Value::Rank(0));
  const std::string host = Encode(Value::String(hostname));
  session_[PMIX_UNIV_SIZE] = one;
  session_[PMIX_SESSION_ID] = Encode(Value::Uint32(0));
  for (const char* key : {PMIX_MAX_PROCS, PMIX_NUM_NODES, PMIX_NUM_SLOTS,
                          PMIX_NUM_ALLOCATED_NODES}) {
    job_[key] = session_[key] = one;
  }
  job_[PMIX_NODE_LIST] = session_[PMIX_NODE_LIST] = host;
  job_[PMIX_ALLOCATED_NODELIST] = session_[PMIX_ALLOCATED_NODELIST] = host;
  job_[PMIX_JOB_SIZE] = one;
  job_[PMIX_JOB_NUM_APPS] = one;
  job_[PMIX_JOBID] = Encode(Value::String(nspace));
  job_[PMIX_NSPACE] = job_[PMIX_JOBID];
  job_[PMIX_NPROC_OFFSET] = zero_rank;
  app_[PMIX_APP_SIZE] = one;
  app_[PMIX_APPLDR] = zero_rank;
  app_[PMIX_APPNUM] = Encode(Value::Uint32(0));
  app_[PMIX_WDIR] = Encode(Value::String(WorkingDirectory()));
  session_[PMIX_TMPDIR] = Encode(Value::String(TemporaryDirectory()));
  const std::string command = CommandLine();
  if (command.empty()) return;
  job_[PMIX_CMD_LINE] = app_[PMIX_APP_ARGV] = Encode(Value::String(command));
}

// Fills the maps in the formats of agents.
void SingletonJob::FillMaps(const std::string& hostname) {
  job_[PMIX_NODE_MAP] = Encode(Value::String(CompressNodeList(hostname)));
  job_[PMIX_NODE_MAP_RAW] = Encode(Value::String(hostname));
  job_[PMIX_PROC_MAP] = Encode(Value::String("pmix[0]"));
  job_[PMIX_PROC_MAP_RAW] = Encode(Value::String("0"));
  job_[PMIX_ANL_MAP] = Encode(Value::String("(vector,(0,1,1))"));
  for (const char* key : {PMIX_NODE_MAP, PMIX_PROC_MAP}) {
    app_[key] = session_[key] = job_[key];
  }
  session_[PMIX_ANL_MAP] = job_[PMIX_ANL_MAP];
}

void SingletonJob::FillNode(const std::string& nspace,
                            const std::string& hostname) {
  const std::string one = Encode(Value::Uint32(1));
  const ProcId self{nspace, 0};
  node_[PMIX_HOSTNAME] = Encode(Value::String(hostname));
  node_[PMIX_NODEID] = Encode(Value::Uint32(0));
  node_[PMIX_NODE_SIZE] = one;
  node_[PMIX_LOCAL_SIZE] = one;
  node_[PMIX_LOCAL_PEERS] = Encode(Value::String("0"));
  node_[PMIX_LOCALLDR] = Encode(Value::Rank(0));
  node_[PMIX_LOCAL_PROCS] = Encode(Value::ProcArray({&self, 1}));
}

void SingletonJob::FillProc(const std::string& nspace,
                            const std::string& hostname) {
  const std::string zero_rank = Encode(Value::Rank(0));
  const std::string zero_16 = Encode(Value::Uint16(0));
  proc_[PMIX_RANK] = zero_rank;
  proc_[PMIX_GLOBAL_RANK] = zero_rank;
  proc_[PMIX_APP_RANK] = zero_rank;
  proc_[PMIX_LOCAL_RANK] = zero_16;
  proc_[PMIX_NODE_RANK] = zero_16;
  proc_[PMIX_APPNUM] = Encode(Value::Uint32(0));
  proc_[PMIX_NODEID] = Encode(Value::Uint32(0));
  proc_[PMIX_REINCARNATION] = Encode(Value::Uint32(0));
  proc_[PMIX_SPAWNED] = Encode(Value::Bool(false));
  proc_[PMIX_HOSTNAME] = Encode(Value::String(hostname));
  proc_[PMIX_NSPACE] = Encode(Value::String(nspace));
  proc_[PMIX_PROCID] = Encode(Value::Proc({nspace, 0}));
  proc_[PMIX_PROC_PID] = Encode(Value::Pid(getpid()));
}

std::optional<std::string_view> SingletonJob::Find(const Table& table,
                                                   std::string_view key) {
  const auto it = table.find(key);
  if (it == table.end()) return std::nullopt;
  return it->second;
}

void SingletonJob::ForEach(const Table& table, const Visit& visit) {
  for (const auto& [key, value] : table) visit(key, value);
}

std::optional<std::string_view> SingletonJob::FindApp(
    uint32_t app, std::string_view key) const {
  return app == 0 ? Find(app_, key) : std::nullopt;
}

std::optional<std::string_view> SingletonJob::FindNode(
    uint32_t node, std::string_view key) const {
  return node == 0 ? Find(node_, key) : std::nullopt;
}

std::optional<uint32_t> SingletonJob::NodeByName(std::string_view name) const {
  if (name == hostname_ || name == "localhost") return 0;
  return std::nullopt;
}

std::span<const uint32_t> SingletonJob::RanksOn(uint32_t node) const {
  return node == 0 ? std::span<const uint32_t>(kSelf)
                   : std::span<const uint32_t>();
}

Presence SingletonJob::ReadProc(Rank rank, std::string_view key,
                                pmix_value_t* value, int* status) const {
  value->type = PMIX_UNDEF;
  if (rank != 0) return Presence::kAbsent;
  const auto found = Find(proc_, key);
  if (!found) return Presence::kAbsent;
  *status = DecodeValue(*found, value);
  return Presence::kFound;
}

void SingletonJob::ForEachProc(Rank rank, const Visit& visit,
                               const std::function<void()>&) const {
  if (rank == 0) ForEach(proc_, visit);
}

void SingletonJob::ForEachApp(uint32_t app, const Visit& visit) const {
  if (app == 0) ForEach(app_, visit);
}

void SingletonJob::ForEachNode(uint32_t node, const Visit& visit) const {
  if (node == 0) ForEach(node_, visit);
}

}  // namespace canopy::client
