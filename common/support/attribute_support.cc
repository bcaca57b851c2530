#include "common/support/attribute_support.h"

#include <algorithm>

#include "client/include/pmix_tables.h"
#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/values/info_list.h"
#include "pmix_common.h"

namespace canopy::support {
namespace {

constexpr std::string_view kImplemented[] = {
#include "common/support/implemented_functions.inc"
};

struct LevelRow {
  Level level;
  std::string_view functions;
  std::string_view attributes;
  std::string_view role;  // contained in FunctionEntry::role
  std::string_view init;  // the function without which the role does not exist
};
constexpr LevelRow kLevels[] = {
    {Level::kClient, PMIX_CLIENT_FUNCTIONS, PMIX_CLIENT_ATTRIBUTES, "client",
     "PMIx_Init"},
    {Level::kServer, PMIX_SERVER_FUNCTIONS, PMIX_SERVER_ATTRIBUTES, "server",
     "PMIx_server_init"},
    {Level::kHost, PMIX_HOST_FUNCTIONS, PMIX_HOST_ATTRIBUTES, "client",
     "PMIx_Init"},
    {Level::kTool, PMIX_TOOL_FUNCTIONS, PMIX_TOOL_ATTRIBUTES, "tool",
     "PMIx_tool_init"},
};

// Attributes that are in the tables but not honoured. A row stands for all
// attributes whose names begin with `attribute`, of all functions whose names
// begin with `function`.
struct Exception {
  std::string_view function;
  std::string_view attribute;
};
constexpr Exception kExceptions[] = {
    {"PMIx_Init", "PMIX_USOCK_DISABLE"},
    {"PMIx_Init", "PMIX_SOCKET_MODE"},
    {"PMIx_Init", "PMIX_SINGLE_LISTENER"},
    {"PMIx_Init", "PMIX_TCP_"},
    {"PMIx_tool_init", "PMIX_SOCKET_MODE"},
    {"PMIx_tool_init", "PMIX_TCP_REPORT_URI"},
    {"PMIx_tool_init", "PMIX_TCP_IF_"},
    {"PMIx_tool_init", "PMIX_TCP_IPV"},
    {"PMIx_tool_init", "PMIX_TCP_DISABLE_"},
    {"PMIx_tool_init", "PMIX_EVENT_BASE"},
    {"PMIx_tool_init", "PMIX_IOF_LOCAL_OUTPUT"},
    {"PMIx_Spawn", "PMIX_IOF_BUFFERING_"},
    {"PMIx_Spawn", "PMIX_LAUNCHER_DAEMON"},
    {"PMIx_Spawn", "PMIX_LAUNCH_DIRECTIVES"},
    {"PMIx_Fence", "PMIX_ALL_CLONES_PARTICIPATE"},
    {"PMIx_Connect", "PMIX_ALL_CLONES_PARTICIPATE"},
    {"PMIx_Disconnect", "PMIX_ALL_CLONES_PARTICIPATE"},
    {"PMIx_Notify_event", "PMIX_EVENT_TERMINATE_"},
    {"PMIx_Notify_event", "PMIX_EVENT_ACTION_TIMEOUT"},
    {"PMIx_Job_control", "PMIX_JOB_CTRL_CANCEL"},
    {"PMIx_Job_control", "PMIX_JOB_CTRL_RESTART"},
    {"PMIx_Job_control", "PMIX_JOB_CTRL_CHECKPOINT"},
    {"PMIx_Job_control", "PMIX_JOB_CTRL_PROVISION"},
    {"PMIx_Job_control", "PMIX_JOB_CTRL_PREEMPTIBLE"},
    {"PMIx_IOF_push", "PMIX_IOF_BUFFERING_"},
    {"PMIx_server_init", "PMIX_USOCK_DISABLE"},
    {"PMIx_server_init", "PMIX_SINGLE_LISTENER"},
    {"PMIx_server_init", "PMIX_HOMOGENEOUS_SYSTEM"},
    {"PMIx_server_init", "PMIX_SERVER_SESSION_SUPPORT"},
    {"PMIx_server_init", "PMIX_SERVER_GATEWAY"},
    {"PMIx_server_init", "PMIX_SERVER_SCHEDULER"},
    {"PMIx_server_init", "PMIX_SERVER_REMOTE_CONNECTIONS"},
    {"PMIx_server_init", "PMIX_SERVER_SHARE_TOPOLOGY"},
    {"PMIx_server_init", "PMIX_SERVER_ENABLE_MONITORING"},
    {"PMIx_server_init", "PMIX_SOCKET_MODE"},
    {"PMIx_server_init", "PMIX_TCP_REPORT_URI"},
    {"PMIx_server_init", "PMIX_TCP_IF_"},
    {"PMIx_server_init", "PMIX_TCP_IPV"},
    {"PMIx_server_init", "PMIX_TCP_DISABLE_IPV4"},
    {"PMIx_server_init", "PMIX_EXTERNAL_PROGRESS"},
    {"PMIx_server_init", "PMIX_EVENT_BASE"},
    {"PMIx_server_init", "PMIX_TOPOLOGY2"},
    {"PMIx_server_init", "PMIX_SINGLETON"},
    {"PMIx_server_setup_application", "PMIX_ALLOC_"},
};

// Attributes that are honoured only if the scheduler honours them. `what`
// selects functions and attributes by prefixes, as in kExceptions.
struct OfScheduler {
  Exception what;
  bool Scheduler::*honours;
};
constexpr OfScheduler kOfScheduler[] = {
    {{"PMIx_Spawn", "PMIX_ALLOC_"}, &Scheduler::places_jobs},
    {{"PMIx_Allocation_request", ""}, &Scheduler::allocates},
};

bool IsOf(const FunctionAttribute& row, const Exception& e) {
  return row.function.starts_with(e.function) &&
         row.attribute.starts_with(e.attribute);
}

bool IsHonoured(const FunctionAttribute& row, const Scheduler& scheduler) {
  return std::ranges::none_of(kExceptions,
                              [&](const auto& e) { return IsOf(row, e); }) &&
         std::ranges::none_of(kOfScheduler, [&](const auto& e) {
           return IsOf(row, e.what) && !(scheduler.*e.honours);
         });
}

const LevelRow& RowOf(Level level) {
  return *std::ranges::find(kLevels, level, &LevelRow::level);
}

bool IsImplemented(std::string_view function) {
  return std::ranges::binary_search(kImplemented, function);
}

bool IsAt(const FunctionEntry& function, Level level,
          const Scheduler& scheduler) {
  const LevelRow& row = RowOf(level);
  if (!IsImplemented(function.name) || !IsImplemented(row.init)) return false;
  if (function.role.view().find(row.role) == std::string_view::npos)
    return false;
  // A function is at the host's level if the host honours at least one of its
  // attributes.
  return level != Level::kHost ||
         std::ranges::any_of(canopy::AttributesOf(function.name),
                             [&](const FunctionAttribute& row) {
                               return row.by_host && IsHonoured(row, scheduler);
                             });
}

const FunctionEntry* FindFunction(std::string_view name) {
  const auto all = canopy::Functions();
  const auto it = std::ranges::lower_bound(
      all, name, {}, [](const FunctionEntry& f) { return f.name.view(); });
  return it == all.end() || it->name != name ? nullptr : &*it;
}

Attribute Describe(const FunctionAttribute& row) {
  Attribute attribute{std::string(row.attribute), "", 0, {}};
  if (const AttributeEntry* entry = FindAttributeByName(row.attribute)) {
    attribute.key = entry->key.view();
    attribute.type = entry->data_type;
    attribute.description.emplace_back(entry->type);
  }
  attribute.description.emplace_back(row.required ? "required" : "optional");
  return attribute;
}

void Join(std::string_view name, std::string* list) {
  if (!list->empty()) *list += ',';
  *list += name;
}

}  // namespace

std::string_view KeyOf(Level level) { return RowOf(level).attributes; }

Levels LevelsOf(std::span<const std::string> keys) {
  Levels levels;
  for (const LevelRow& row : kLevels) {
    const bool all = keys.empty();
    if (all || std::ranges::count(keys, row.attributes) > 0) {
      levels.attributes.push_back(row.level);
    }
    if (std::ranges::count(keys, row.functions) > 0) {
      levels.functions.push_back(row.level);
    }
  }
  return levels;
}

std::vector<std::pair<std::string, std::string>> Functions(
    const Levels& levels, const Scheduler& scheduler) {
  std::vector<std::pair<std::string, std::string>> lists;
  for (const Level level : levels.functions) {
    std::string names;
    for (const FunctionEntry& function : canopy::Functions()) {
      if (IsAt(function, level, scheduler)) Join(function.name, &names);
    }
    lists.emplace_back(RowOf(level).functions, std::move(names));
  }
  return lists;
}

std::vector<Attribute> AttributesAt(std::string_view function, Level level,
                                    const Scheduler& scheduler) {
  std::vector<Attribute> attributes;
  const FunctionEntry* entry = FindFunction(function);
  if (entry == nullptr || !IsAt(*entry, level, scheduler)) return attributes;
  for (const FunctionAttribute& row : canopy::AttributesOf(function)) {
    if (row.by_host != (level == Level::kHost)) continue;
    if (!IsHonoured(row, scheduler)) continue;
    attributes.push_back(Describe(row));
  }
  return attributes;
}

Value RegattrArray(std::span<const Attribute> attributes) {
  Encoder out;
  out.PutUint16(PMIX_DATA_ARRAY);
  out.PutUint16(PMIX_REGATTR);
  out.PutSize(attributes.size());
  for (const Attribute& attribute : attributes) {
    out.PutString(attribute.name);
    out.PutString(attribute.key);
    out.PutUint16(attribute.type);
    out.PutInt32(static_cast<int32_t>(attribute.description.size()));
    for (const std::string& line : attribute.description) out.PutString(line);
  }
  const std::string encoded = out.Take();
  Result<Value> value = DecodeValue(encoded);
  return value.ok() ? *std::move(value) : Value();
}

Value AttributesOf(std::string_view function, const Levels& levels,
                   const Scheduler& scheduler) {
  InfoList answer;
  for (const Level level : levels.attributes) {
    const std::vector<Attribute> attributes =
        AttributesAt(function, level, scheduler);
    if (attributes.empty()) continue;
    answer.Add(KeyOf(level), RegattrArray(attributes));
  }
  return answer.empty() ? Value() : Value::InfoArray(answer);
}

std::string SpawnAttributes(const Scheduler& scheduler) {
  std::string keys;
  for (const Attribute& attribute :
       AttributesAt("PMIx_Spawn", Level::kHost, scheduler)) {
    Join(attribute.key, &keys);
  }
  return keys;
}

// Returns the attributes of a spawn that a debugger needs from a launcher in
// addition to the process tables: the honoured attributes of the debug group.
std::string DebugAttributes() {
  std::string keys;
  for (const Attribute& attribute : AttributesAt("PMIx_Spawn", Level::kHost)) {
    const AttributeEntry* entry = FindAttributeByName(attribute.name);
    if (entry != nullptr && entry->group.starts_with("debug")) {
      Join(attribute.key, &keys);
    }
  }
  Join(PMIX_QUERY_PROC_TABLE, &keys);
  Join(PMIX_QUERY_LOCAL_PROC_TABLE, &keys);
  return keys;
}

}  // namespace canopy::support
