#include "client/cli/agents/slurm.h"

#include <algorithm>
#include <utility>

#include "common/string_util.h"

namespace canopy::cli {
namespace {

constexpr size_t kMaxNodes = 65536;

Status NotANodeList(std::string_view text) {
  return Status(kErrBadParam,
                "'" + std::string(text.substr(0, 80)) +
                    "' is not a list of nodes as Slurm writes it");
}

std::string_view Text(char* value) {
  return value == nullptr ? std::string_view() : std::string_view(value);
}

// Splits at the commas that are outside brackets.
std::vector<std::string_view> SplitOutside(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t start = 0;
  int depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      parts.push_back(text.substr(start, i - start));
      start = i + 1;
    } else if (text[i] == '[') {
      ++depth;
    } else if (text[i] == ']') {
      --depth;
    }
  }
  return parts;
}

std::string Padded(uint32_t n, size_t width) {
  std::string text = std::to_string(n);
  if (text.size() < width) text.insert(0, width - text.size(), '0');
  return text;
}

// Expands "1-3" or "7" and appends the numbers as text.
bool ExpandRange(std::string_view range, std::vector<std::string>* out) {
  const size_t dash = range.find('-');
  const std::string_view low_text = range.substr(0, dash);
  const auto low = ParseNumber(low_text);
  const auto high = dash == std::string_view::npos
                        ? low
                        : ParseNumber(range.substr(dash + 1));
  if (!low || !high || *high < *low || *high - *low >= kMaxNodes) return false;
  if (out->size() + (*high - *low) >= kMaxNodes) return false;
  for (uint32_t n = *low; n <= *high; ++n) {
    out->push_back(Padded(n, low_text.size()));
    if (n == UINT32_MAX) break;
  }
  return true;
}

// Expands one part: the text before the first bracket, combined with each
// alternative in the bracket and each expansion of the rest.
bool ExpandPart(std::string_view part, std::vector<std::string>* out) {
  const size_t open = part.find('[');
  if (open == std::string_view::npos) {
    if (part.empty() || part.find(']') != std::string_view::npos) return false;
    out->emplace_back(part);
    return true;
  }
  const size_t close = part.find(']', open);
  if (close == std::string_view::npos) return false;
  std::vector<std::string> middles;
  for (const std::string& range :
       Split(part.substr(open + 1, close - open - 1), ',')) {
    if (!ExpandRange(range, &middles)) return false;
  }
  std::vector<std::string> tails;
  const std::string_view rest = part.substr(close + 1);
  if (rest.empty()) {
    tails.emplace_back();
  } else if (!ExpandPart(rest, &tails)) {
    return false;
  }
  if (middles.size() * tails.size() > kMaxNodes) return false;
  const std::string head(part.substr(0, open));
  for (const std::string& middle : middles) {
    for (const std::string& tail : tails) out->push_back(head + middle + tail);
  }
  return true;
}

}  // namespace

std::optional<SlurmAllocation> FindSlurmAllocation(
    const std::function<char*(const char*)>& environment) {
  SlurmAllocation found;
  found.job_id = Text(environment("SLURM_JOB_ID"));
  found.node_list = Text(environment("SLURM_JOB_NODELIST"));
  if (found.job_id.empty() || found.node_list.empty()) return std::nullopt;
  found.tasks_per_node = Text(environment("SLURM_TASKS_PER_NODE"));
  found.cpus_per_node = Text(environment("SLURM_JOB_CPUS_PER_NODE"));
  return found;
}

Result<std::vector<std::string>> ExpandNodeList(std::string_view text) {
  std::vector<std::string> names;
  for (const std::string_view part : SplitOutside(text)) {
    if (!ExpandPart(part, &names) || names.size() > kMaxNodes) {
      return NotANodeList(text);
    }
  }
  return names;
}

Result<std::vector<uint32_t>> ExpandCounts(std::string_view text) {
  std::vector<uint32_t> counts;
  for (const std::string& part : Split(text, ',')) {
    const size_t open = part.find("(x");
    const auto count = ParseNumber(std::string_view(part).substr(0, open));
    std::optional<uint32_t> times = 1;
    if (open != std::string::npos) {
      times = part.ends_with(')')
                  ? ParseNumber(std::string_view(part).substr(
                                    open + 2, part.size() - open - 3),
                                kMaxNodes)
                  : std::nullopt;
    }
    if (!count || !times || counts.size() + *times > kMaxNodes) {
      return Status(kErrBadParam, "'" + std::string(text.substr(0, 80)) +
                                      "' is not a list of counts as Slurm "
                                      "writes it");
    }
    counts.insert(counts.end(), *times, *count);
  }
  return counts;
}

Result<std::vector<Host>> SlurmHosts(const SlurmAllocation& allocation) {
  Result<std::vector<std::string>> names = ExpandNodeList(allocation.node_list);
  if (!names.ok()) return names.status();
  std::vector<uint32_t> slots;
  for (const std::string* counts :
       {&allocation.tasks_per_node, &allocation.cpus_per_node}) {
    if (counts->empty() || !slots.empty()) continue;
    Result<std::vector<uint32_t>> expanded = ExpandCounts(*counts);
    if (!expanded.ok()) return expanded.status();
    slots = *std::move(expanded);
  }
  std::vector<Host> hosts;
  for (std::string& name : *names) {
    Host& host = hosts.emplace_back();
    host.name = std::move(name);
    host.slots_given = hosts.size() <= slots.size();
    if (host.slots_given) host.slots = slots[hosts.size() - 1];
  }
  return hosts;
}

std::string SlurmLaunchAgent(const SlurmAllocation& allocation) {
  // Without --unbuffered srun forwards complete lines only.
  return "srun --jobid=" + ShellQuoted(allocation.job_id) +
         " --overlap --nodes=1 --ntasks=1 --nodelist={host} --mpi=none"
         " --cpu-bind=none --quiet --unbuffered --kill-on-bad-exit=0"
         " --export=ALL";
}

}  // namespace canopy::cli
