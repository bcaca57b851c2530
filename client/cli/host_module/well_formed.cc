#include "client/cli/host_module/well_formed.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace canopy::cli {
namespace {

namespace v1h = hostmodule::v1;

constexpr size_t kMaxKey = 511;
constexpr size_t kMaxName = 255;
constexpr uint32_t kMaxType = 0xffff;
// A time more than a day ahead is rejected as invalid.
constexpr int64_t kDayMs = int64_t{24} * 3600 * 1000;

// Returns the pmix_data_type_t of the kinds that only one type uses.
uint32_t OnlyTypeOf(v1h::Value::KindCase kind) {
  switch (kind) {
    case v1h::Value::kFlag:
      return 1;  // PMIX_BOOL
    case v1h::Value::kText:
      return 3;  // PMIX_STRING
    case v1h::Value::kProcess:
      return 22;  // PMIX_PROC
    case v1h::Value::kOctets:
      return 27;  // PMIX_BYTE_OBJECT
    case v1h::Value::kInfos:
      return 39;  // PMIX_DATA_ARRAY
    default:
      return 0;
  }
}

std::string ProblemOfValue(const v1h::Value& value) {
  if (value.kind_case() == v1h::Value::KIND_NOT_SET) return "has no value";
  const uint32_t only = OnlyTypeOf(value.kind_case());
  if (value.type() > kMaxType ||
      (value.type() != 0 && only != 0 && value.type() != only)) {
    return "has type " + std::to_string(value.type()) +
           ", which its value is not of";
  }
  if (value.text().find('\0') != std::string::npos) {
    return "has text with a 0 byte in it";
  }
  for (const v1h::Info& info : value.infos().infos()) {
    std::string problem = ProblemOf(info);
    if (!problem.empty()) return problem;
  }
  return {};
}

bool IsOneLine(const std::string& text) {
  return text.find('\n') == std::string::npos;
}

}  // namespace

std::string SlotName(v1h::Slot slot) {
  constexpr size_t kPrefix = sizeof "SLOT_" - 1;
  std::string name = v1h::Slot_Name(slot);
  if (name.size() <= kPrefix) return "slot " + std::to_string(slot);
  name.erase(0, kPrefix);
  std::ranges::transform(name, name.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return name;
}

std::string ProblemOf(const v1h::Info& info) {
  if (info.key().empty()) return "an info without a key";
  if (info.key().size() > kMaxKey) return "an info with a key above 511 bytes";
  const std::string problem = ProblemOfValue(info.value());
  return problem.empty() ? problem : "info '" + info.key() + "' " + problem;
}

std::string ProblemOf(const v1h::HostReply& reply) {
  if (!IsOneLine(reply.message())) return "a message of more than one line";
  for (const v1h::Info& info : reply.results()) {
    std::string problem = ProblemOf(info);
    if (!problem.empty()) return problem;
  }
  return {};
}

std::string ProblemOf(const v1h::GetCapabilitiesReply& reply) {
  if (reply.name().size() > kMaxName || reply.version().size() > kMaxName) {
    return "a name or version above 255 bytes";
  }
  std::set<int> seen;
  for (const int slot : reply.slots()) {
    if (slot == v1h::SLOT_UNSPECIFIED) return "SLOT_UNSPECIFIED in its list";
    if (!seen.insert(slot).second) {
      return SlotName(static_cast<v1h::Slot>(slot)) + " listed twice";
    }
  }
  if (seen.contains(v1h::SLOT_PLACE_JOB) && !seen.contains(v1h::SLOT_ATTACH)) {
    return "place_job without attach, which tells it of nodes and ends";
  }
  return {};
}

std::string ProblemOf(const v1h::Granted& granted) {
  if (granted.host_job_id().empty()) return "a grant without host_job_id";
  if (granted.host_job_id().size() > kMaxName) {
    return "a host_job_id above 255 bytes";
  }
  if (granted.nodes().empty()) return "a grant of no node";
  std::set<std::string> names;
  for (const v1h::GrantedNode& node : granted.nodes()) {
    if (node.slots() == 0) return "node '" + node.name() + "' with 0 slots";
    if (!names.insert(node.name()).second) {
      return "node '" + node.name() + "' twice in one grant";
    }
  }
  for (const std::string& entry : granted.env()) {
    const size_t equals = entry.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return "'" + entry.substr(0, 80) + "' in env, which is not NAME=VALUE";
    }
  }
  return {};
}

std::string ProblemOf(const v1h::Refused& refused) {
  if (refused.status() > 0) {
    return "a refusal with status " + std::to_string(refused.status()) +
           ", which is not negative";
  }
  return IsOneLine(refused.message()) ? "" : "a refusal of more than one line";
}

std::string ProblemOf(const v1h::Queued& queued, int64_t now_ms) {
  if (!IsOneLine(queued.reason())) return "a reason of more than one line";
  if (queued.since_ms() < 0 || queued.since_ms() > now_ms + kDayMs) {
    return "queued since " + std::to_string(queued.since_ms()) +
           " ms, which is no time";
  }
  return {};
}

}  // namespace canopy::cli
