#include "client/cli/host_module/well_formed.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "server/scheduler/contract/times.h"

namespace canopy::cli {
namespace {

namespace v1h = hostmodule::v1;

constexpr size_t kMaxKey = 511;
constexpr size_t kMaxName = 255;
constexpr uint32_t kMaxType = 0xffff;
constexpr size_t kMaxField = 1024;
constexpr size_t kMaxCookie = 4096;
constexpr int kMaxInfos = 512;
constexpr int kMaxVariables = 4096;
constexpr uint32_t kMaxSlots = 4096;
// A time more than a day ahead is rejected as invalid.
constexpr int64_t kDayMs = int64_t{24} * 3600 * 1000;

// Returns the pmix_data_type_t of a kind to which only one type belongs, or 0
// for other kinds.
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
  const auto type = static_cast<uint32_t>(value.type());
  if (type > kMaxType || (type != 0 && only != 0 && type != only)) {
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

bool HasControl(const std::string& text) {
  return std::ranges::any_of(
      text, [](unsigned char c) { return std::iscntrl(c) != 0; });
}

std::string ProblemOfName(const std::string& what, const std::string& name) {
  if (name.size() > kMaxName) return what + " above 255 bytes";
  return HasControl(name) ? what + " with control characters" : "";
}

// Checks a text for people. Returns a description of its problem, or an empty
// string if it has none.
std::string ProblemOfText(const std::string& what, const std::string& text) {
  if (text.find('\n') != std::string::npos) {
    return what + " of more than one line";
  }
  if (HasControl(text)) return what + " with control characters";
  return text.size() > kMaxField ? what + " above 1024 bytes" : "";
}

std::string ProblemOf(const v1h::GrantedNode& node) {
  if (node.slots() == 0) return "node '" + node.name() + "' with 0 slots";
  if (node.slots() <= kMaxSlots) return {};
  return "node '" + node.name() + "' with more than 4096 slots";
}

std::string ProblemOfEnvironment(const v1h::Granted& granted) {
  if (granted.env_size() > kMaxVariables) return "more than 4096 variables";
  for (const std::string& entry : granted.env()) {
    const size_t equals = entry.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return "'" + entry.substr(0, 80) + "' in env, which is not NAME=VALUE";
    }
  }
  return {};
}

}  // namespace

std::string FeatureName(v1h::Feature feature) {
  constexpr size_t kPrefix = sizeof "FEATURE_" - 1;
  std::string name = v1h::Feature_Name(feature);
  if (name.size() <= kPrefix) return "feature " + std::to_string(feature);
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

std::string ProblemOf(
    const google::protobuf::RepeatedPtrField<v1h::Info>& results) {
  if (results.size() > kMaxInfos) return "more than 512 infos";
  for (const v1h::Info& info : results) {
    std::string problem = ProblemOf(info);
    if (!problem.empty()) return problem;
  }
  return {};
}

std::string ProblemOf(const v1h::GetCapabilitiesResponse& reply) {
  for (const std::string* const text : {&reply.name(), &reply.version()}) {
    const std::string problem = ProblemOfName("a name or version", *text);
    if (!problem.empty()) return problem;
  }
  std::set<int> seen;
  for (const int feature : reply.features()) {
    if (feature == v1h::FEATURE_UNSPECIFIED) {
      return "FEATURE_UNSPECIFIED in its list";
    }
    if (!seen.insert(feature).second) {
      return FeatureName(static_cast<v1h::Feature>(feature)) + " listed twice";
    }
  }
  if (seen.contains(v1h::FEATURE_PLACE_JOB) &&
      !seen.contains(v1h::FEATURE_ATTACH)) {
    return "place_job without attach, which reports nodes and the ends of jobs";
  }
  return {};
}

std::string ProblemOf(const v1h::Granted& granted) {
  if (granted.host_job_id().empty()) return "a grant without host_job_id";
  const std::string problem =
      ProblemOfName("a host_job_id", granted.host_job_id());
  if (!problem.empty()) return problem;
  if (granted.nodes().empty()) return "a grant of no node";
  std::set<std::string> names;
  for (const v1h::GrantedNode& node : granted.nodes()) {
    if (const std::string p = ProblemOf(node); !p.empty()) return p;
    if (!names.insert(node.name()).second) {
      return "node '" + node.name() + "' twice in one grant";
    }
  }
  return ProblemOfEnvironment(granted);
}

std::string ProblemOf(const v1h::Queued& queued, int64_t now_ms) {
  const std::string problem = ProblemOfText("a reason", queued.reason());
  if (!problem.empty()) return problem;
  if (queued.cookie().size() > kMaxCookie) return "a cookie above 4096 bytes";
  const int64_t since = scheduler::MsOf(queued.queue_time());
  if (since < 0 || since > now_ms + kDayMs) {
    return "queued since " + std::to_string(since) + " ms, which is no time";
  }
  return {};
}

}  // namespace canopy::cli
