#include "client/cli/options/rankfile.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "client/cli/base/file_util.h"
#include "common/hosts.h"
#include "common/request/slot_list.h"
#include "common/string_util.h"

namespace canopy::cli {
namespace {

constexpr size_t kMaxRankfile = 16u << 20;
constexpr uint32_t kMaxRank = (1u << 20) - 1;

// Parses "N=HOST".
Result<Rank> ParsePlace(const std::string& text, RankLine* out) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) {
    return Status(kErrBadParam, "'" + text + "' is not RANK=HOST");
  }
  const std::string number = text.substr(0, equals);
  const auto rank = ParseNumber(number, kMaxRank);
  if (!rank) return Status(kErrBadParam, "'" + number + "' is no rank");
  out->host = text.substr(equals + 1);
  if (out->host.empty()) {
    return Status(kErrBadParam, "rank " + number + " has no host");
  }
  return static_cast<Rank>(*rank);
}

Status ParseSlots(const std::string& text, RankLine* out) {
  const size_t equals = text.find('=');
  const std::string key = text.substr(0, equals);
  if (equals == std::string::npos || (key != "slot" && key != "slots")) {
    return Status(kErrBadParam, "'" + text + "' is not slot=CORES");
  }
  out->slots = text.substr(equals + 1);
  return ParseSlotList(out->slots).status();
}

Result<Rank> ParseLine(const std::string& line, RankLine* out) {
  const std::vector<std::string_view> words = WordsOf(line);
  if (words.size() != 3 || words[0] != "rank") {
    return Status(kErrBadParam,
                  "a line has the form 'rank N=HOST slot=CORES', such as "
                  "'rank 0=node1 slot=0:1-2'");
  }
  Result<Rank> rank = ParsePlace(std::string(words[1]), out);
  if (!rank.ok()) return rank;
  Status status = ParseSlots(std::string(words[2]), out);
  if (!status.ok()) return status;
  return rank;
}

// Returns the number of processes of the job. If its only application has no
// number of processes, sets that number to the highest rank of the file plus 1.
// Fails if one of several applications has no number, or if a rank has no line.
// `name` is the name of the file.
Result<uint32_t> Count(const Rankfile& file, const std::string& name,
                       JobRequest* job) {
  uint64_t count = 0;
  for (JobApp& app : job->apps) {
    if (app.num_procs == 0 && job->apps.size() > 1) {
      return Status(kErrBadParam, "with several programs, each needs its -n; " +
                                      app.argv[0] + " has none");
    }
    if (app.num_procs == 0) app.num_procs = file.rbegin()->first + 1;
    count += app.num_procs;
  }
  for (Rank rank = 0; rank < count; ++rank) {
    if (file.contains(rank)) continue;
    return Status(kErrBadParam, name + ": rank " + std::to_string(rank) +
                                    " has no line, and the job has " +
                                    std::to_string(count) + " processes");
  }
  return static_cast<uint32_t>(count);
}

// Returns the host that a line names, which must be one of `hosts`, the hosts
// of --host in their order. Returns no value for another host.
std::optional<std::string> HostAmong(const std::vector<Host>& hosts,
                                     const std::string& named) {
  if (named.starts_with("+n")) {
    const auto number = ParseNumber(named.substr(2));
    if (!number || *number >= hosts.size()) return std::nullopt;
    return hosts[*number].name;
  }
  const bool known = std::ranges::count(hosts, named, &Host::name) > 0;
  return known ? std::optional(named) : std::nullopt;
}

Status CheckOptions(const JobPlaces& places) {
  const char* const other =
      places.map_by.find("pe=") != std::string::npos        ? "--cpus-per-task"
      : !places.map_by.empty() && places.map_by[0] != ':'   ? "--map-by"
      : !places.rank_by.empty()                             ? "--rank-by"
      : !places.bind_to.empty() && places.bind_to != "none" ? "--bind-to"
                                                            : nullptr;
  if (other == nullptr) return Status();
  return Status(kErrBadParam,
                std::string(other) +
                    " contradicts --rankfile, which names the node and the "
                    "CPUs of each rank; leave one of them out");
}

// Replaces the hosts of an application by one host for each of its ranks, which
// begin with `first`.
Status PlaceApp(const Rankfile& file, const std::string& name, Rank first,
                JobApp* app) {
  const std::vector<Host> allowed = std::exchange(app->hosts, {});
  for (Rank rank = first; rank < first + app->num_procs; ++rank) {
    const RankLine& line = file.at(rank);
    const auto host = allowed.empty() ? std::optional(line.host)
                                      : HostAmong(allowed, line.host);
    if (!host) {
      return Status(kErrBadParam, name + ":" + std::to_string(line.line) +
                                      ": host '" + line.host +
                                      "' is none of those of --host or "
                                      "--hostfile");
    }
    app->hosts.push_back(Host{*host});
  }
  return Status();
}

}  // namespace

Result<Rankfile> ParseRankfile(const std::string& text,
                               const std::string& name) {
  Rankfile file;
  size_t number = 0;
  for (const std::string& line : Split(text, '\n')) {
    ++number;
    const std::string_view content = Trim(line);
    if (content.empty() || content.starts_with('#')) continue;
    RankLine out;
    out.line = number;
    const Result<Rank> rank = ParseLine(line, &out);
    const std::string where = name + ":" + std::to_string(number) + ": ";
    if (!rank.ok()) {
      return Status(kErrBadParam, where + rank.status().message());
    }
    const auto [entry, is_new] = file.emplace(*rank, std::move(out));
    if (is_new) continue;
    return Status(kErrBadParam, where + "rank " + std::to_string(*rank) +
                                    " has a line already, line " +
                                    std::to_string(entry->second.line));
  }
  if (!file.empty()) return file;
  return Status(kErrBadParam, "rankfile " + name + " names no rank");
}

Result<Rankfile> LoadRankfile(const std::string& path) {
  const Result<std::string> content = ReadFile(path, kMaxRankfile);
  if (content.ok()) return ParseRankfile(*content, path);
  return Status(content.code(),
                "cannot read rankfile " + content.status().message());
}

Status ApplyRankfile(const Rankfile& file, const std::string& name,
                     JobRequest* job) {
  JobPlaces& places = job->places;
  if (Status s = CheckOptions(places); !s.ok()) return s;
  const Result<uint32_t> count = Count(file, name, job);
  if (!count.ok()) return count.status();
  Rank first = 0;
  for (JobApp& app : job->apps) {
    if (Status s = PlaceApp(file, name, first, &app); !s.ok()) return s;
    first += app.num_procs;
  }
  places.map_by = "seq" + places.map_by;
  if (places.bind_to == "none") return Status();
  for (Rank rank = 0; rank < *count; ++rank) {
    places.bind_to += (rank == 0 ? "slots=" : "|") + file.at(rank).slots;
  }
  return Status();
}

}  // namespace canopy::cli
