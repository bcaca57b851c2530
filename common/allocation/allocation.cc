#include "common/allocation/allocation.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

#include "common/allocation/slurm.h"
#include "common/string_util.h"

namespace canopy {
namespace {

using Environment = std::function<char*(const char*)>;
using Found = Result<std::optional<Allocation>>;

constexpr size_t kMaxFile = 16u << 20;
constexpr uint32_t kMaxSlots = 1u << 20;
// With -inherit the agent is a task of the job; the execution daemon of its
// node accounts for it and ends it.
constexpr char kGridEngineLaunchAgent[] = "qrsh -inherit -V {host}";

std::string Text(const Environment& environment, const char* name) {
  const char* const value = environment(name);
  return value == nullptr ? std::string() : std::string(value);
}

// Reads the file whose path the variable contains.
Result<std::string> ReadFileOf(const char* variable, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const bool is_open = file.is_open();
  const std::string reason = is_open ? "it is too large" : std::strerror(errno);
  std::string content(kMaxFile + 1, '\0');
  file.read(content.data(), static_cast<std::streamsize>(content.size()));
  content.resize(
      static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  if (is_open && !file.bad() && content.size() <= kMaxFile) return content;
  return Status(kErrNotFound, std::string("cannot read the nodes of this "
                                          "allocation from ") +
                                  variable + ": " + path + ": " + reason);
}

Found FindSlurm(const Environment& environment) {
  const std::optional<SlurmAllocation> slurm = FindSlurmAllocation(environment);
  if (!slurm.has_value()) return std::optional<Allocation>();
  Result<std::vector<Host>> hosts = SlurmHosts(*slurm);
  if (!hosts.ok()) return hosts.status();
  return std::optional<Allocation>({"Slurm job " + slurm->job_id,
                                    *std::move(hosts), SlurmLaunchAgent(*slurm),
                                    true});
}

// PBS starts programs on other nodes only through a library, which does not
// connect their standard input. Its hosts are therefore reached by ssh.
Found FindPbs(const Environment& environment) {
  const std::string job = Text(environment, "PBS_JOBID");
  const std::string path = Text(environment, "PBS_NODEFILE");
  if (job.empty() || path.empty()) return std::optional<Allocation>();
  Result<std::string> content = ReadFileOf("PBS_NODEFILE", path);
  if (!content.ok()) return content.status();
  Result<std::vector<Host>> lines = ParseHostfile(*content, path);
  if (!lines.ok()) return lines.status();
  Allocation found = {"PBS job " + job, {}, "", false};
  for (Host& line : *lines) {
    auto known = std::ranges::find(found.hosts, line.name, &Host::name);
    if (known == found.hosts.end()) {
      known = found.hosts.insert(known, {line.name, 0, true, {}});
    }
    known->slots += line.slots_given ? line.slots : 1;
  }
  return std::optional<Allocation>(std::move(found));
}

Found FindGridEngine(const Environment& environment) {
  const std::string path = Text(environment, "PE_HOSTFILE");
  if (path.empty()) return std::optional<Allocation>();
  Result<std::string> content = ReadFileOf("PE_HOSTFILE", path);
  if (!content.ok()) return content.status();
  Result<std::vector<Host>> hosts = ParsePeHostfile(*content, path);
  if (!hosts.ok()) return hosts.status();
  return std::optional<Allocation>(
      {"Grid Engine job " + Text(environment, "JOB_ID"), *std::move(hosts),
       kGridEngineLaunchAgent, false});
}

Result<Host> ParsePeLine(std::string_view line) {
  std::vector<std::string> words;
  for (std::string& word : Split(line, ' ')) {
    if (!Trim(word).empty()) words.push_back(std::move(word));
  }
  const auto slots =
      words.size() < 2 ? std::nullopt : ParseNumber(words[1], kMaxSlots);
  if (!slots || *slots == 0 || words[0].find(':') != std::string::npos) {
    return Status(kErrBadParam,
                  "'" + std::string(line.substr(0, 80)) +
                      "' is not HOST SLOTS QUEUE, as Grid Engine writes it");
  }
  Result<std::vector<Host>> host = ParseHostList(words[0]);
  if (!host.ok()) return host.status();
  if (host->size() != 1) {
    return Status(kErrBadParam, "'" + words[0] + "' does not name one host");
  }
  host->front().slots = *slots;
  host->front().slots_given = true;
  return std::move(host->front());
}

}  // namespace

Result<std::vector<Host>> ParsePeHostfile(std::string_view content,
                                          const std::string& file) {
  std::vector<Host> hosts;
  size_t number = 0;
  for (const std::string& line : Split(content, '\n')) {
    ++number;
    const std::string_view text = Trim(line);
    if (text.empty()) continue;
    Result<Host> host = ParsePeLine(text);
    if (!host.ok()) {
      return Status(kErrBadParam, file + ":" + std::to_string(number) + ": " +
                                      host.status().message());
    }
    hosts.push_back(*std::move(host));
  }
  if (hosts.empty()) {
    return Status(kErrBadParam, "hostfile " + file + " names no host");
  }
  return hosts;
}

Result<std::optional<Allocation>> FindAllocation(
    const Environment& environment) {
  for (const auto find : {FindSlurm, FindPbs, FindGridEngine}) {
    Found found = find(environment);
    if (!found.ok() || found->has_value()) return found;
  }
  return std::optional<Allocation>();
}

}  // namespace canopy
