#include "client/tools/launch_words.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>

#include "pmix.h"

namespace canopy::tools {
namespace {

enum class Kind : uint8_t {
  kAnyway,  // the job does this without an option
  kFlag,
  kText,
  kSeconds,
  kVariable,
  kStop,
};

struct LaunchWord {
  std::string_view key;
  Kind kind;
  const char* option;
};

constexpr LaunchWord kLaunchWords[] = {
    {PMIX_DEBUG_STOP_ON_EXEC, Kind::kStop, "--stop-on-exec"},
    {PMIX_DEBUG_STOP_IN_INIT, Kind::kStop, "--stop-in-init"},
    {PMIX_DEBUG_STOP_IN_APP, Kind::kStop, "--stop-in-app"},
    {PMIX_MAPBY, Kind::kText, "--map-by"},
    {PMIX_RANKBY, Kind::kText, "--rank-by"},
    {PMIX_BINDTO, Kind::kText, "--bind-to"},
    {PMIX_CPU_LIST, Kind::kText, "--cpu-list"},
    {PMIX_NO_OVERSUBSCRIBE, Kind::kFlag, "--nooversubscribe"},
    {PMIX_NO_PROCS_ON_HEAD, Kind::kFlag, "--nolocal"},
    {PMIX_DISPLAY_MAP, Kind::kFlag, "--display-map"},
    {PMIX_REPORT_BINDINGS, Kind::kFlag, "--report-bindings"},
    {PMIX_INDEX_ARGV, Kind::kFlag, "--index-argv-by-rank"},
    {PMIX_TAG_OUTPUT, Kind::kFlag, "--tag-output"},
    {PMIX_IOF_TAG_OUTPUT, Kind::kFlag, "--tag-output"},
    {PMIX_TIMESTAMP_OUTPUT, Kind::kFlag, "--timestamp-output"},
    {PMIX_IOF_TIMESTAMP_OUTPUT, Kind::kFlag, "--timestamp-output"},
    {PMIX_MERGE_STDERR_STDOUT, Kind::kFlag, "--merge-stderr-to-stdout"},
    {PMIX_IOF_MERGE_STDERR_STDOUT, Kind::kFlag, "--merge-stderr-to-stdout"},
    {PMIX_OUTPUT_TO_DIRECTORY, Kind::kText, "--output-filename"},
    {PMIX_IOF_OUTPUT_TO_DIRECTORY, Kind::kText, "--output-filename"},
    {PMIX_TIMEOUT, Kind::kSeconds, "--timeout"},
    {PMIX_JOB_TIMEOUT, Kind::kSeconds, "--timeout"},
    {PMIX_SET_ENVAR, Kind::kVariable, "--genv"},
    {PMIX_FWD_STDOUT, Kind::kAnyway, ""},
    {PMIX_FWD_STDERR, Kind::kAnyway, ""},
    {PMIX_NOTIFY_JOB_EVENTS, Kind::kAnyway, ""},
    {PMIX_NOTIFY_COMPLETION, Kind::kAnyway, ""},
};

// Reads a flag. Returns no value if the value is not a flag.
std::optional<bool> FlagOf(const pmix_value_t& value) {
  if (value.type == PMIX_UNDEF) return true;
  if (value.type != PMIX_BOOL) return std::nullopt;
  return value.data.flag;
}

std::optional<std::string> SecondsOf(const pmix_value_t& value) {
  if (value.type == PMIX_INT && value.data.integer >= 0) {
    return std::to_string(value.data.integer);
  }
  if (value.type == PMIX_UINT32) return std::to_string(value.data.uint32);
  return std::nullopt;
}

using Ranks = std::set<pmix_rank_t>;

void AddRanks(const pmix_data_array_t& array, Ranks* ranks) {
  for (size_t i = 0; i < array.size; ++i) {
    if (array.type == PMIX_PROC) {
      ranks->insert(static_cast<const pmix_proc_t*>(array.array)[i].rank);
    } else if (array.type == PMIX_PROC_RANK) {
      ranks->insert(static_cast<const pmix_rank_t*>(array.array)[i]);
    }
  }
}

// Returns the ranks that a stop directive names; an empty set means all ranks.
// Returns no value if the value has another type.
std::optional<Ranks> RanksOf(const pmix_value_t& value) {
  Ranks ranks;
  if (value.type == PMIX_PROC_RANK) {
    ranks.insert(value.data.rank);
  } else if (value.type == PMIX_DATA_ARRAY && value.data.darray != nullptr) {
    AddRanks(*value.data.darray, &ranks);
    if (ranks.empty()) return std::nullopt;
  } else if (!FlagOf(value)) {
    return std::nullopt;
  }
  return ranks.contains(PMIX_RANK_WILDCARD) ? Ranks() : ranks;
}

class Writer {
 public:
  Status Add(const pmix_info_t& info);
  Result<std::vector<std::string>> Finish() &&;

 private:
  bool AddStop(const char* option, const pmix_value_t& value);
  bool AddAs(const LaunchWord& row, const pmix_value_t& value);

  std::vector<std::string> words_;
  std::optional<Ranks> stops_;
  bool stops_differ_ = false;
};

bool Writer::AddStop(const char* option, const pmix_value_t& value) {
  if (FlagOf(value) == false) return true;
  std::optional<Ranks> ranks = RanksOf(value);
  if (!ranks) return false;
  stops_differ_ |= stops_ && *stops_ != *ranks;
  stops_ = std::move(ranks);
  words_.emplace_back(option);
  return true;
}

bool Writer::AddAs(const LaunchWord& row, const pmix_value_t& value) {
  switch (row.kind) {
    case Kind::kAnyway:
      return true;
    case Kind::kStop:
      return AddStop(row.option, value);
    case Kind::kFlag: {
      const std::optional<bool> flag = FlagOf(value);
      if (flag == true) words_.emplace_back(row.option);
      return flag.has_value();
    }
    case Kind::kText:
      if (value.type != PMIX_STRING || value.data.string == nullptr) break;
      words_.insert(words_.end(), {row.option, value.data.string});
      return true;
    case Kind::kSeconds: {
      const std::optional<std::string> seconds = SecondsOf(value);
      if (seconds) words_.insert(words_.end(), {row.option, *seconds});
      return seconds.has_value();
    }
    case Kind::kVariable: {
      const pmix_envar_t& variable = value.data.envar;
      if (value.type != PMIX_ENVAR || variable.envar == nullptr) break;
      const char* const text = variable.value;
      words_.insert(words_.end(),
                    {row.option, variable.envar, text == nullptr ? "" : text});
      return true;
    }
  }
  return false;
}

Status Writer::Add(const pmix_info_t& info) {
  const std::string key(info.key, strnlen(info.key, sizeof info.key));
  const char* const name = PMIx_Get_attribute_name(key.c_str());
  const std::string what = name == nullptr ? key : name;
  const auto* const row =
      std::ranges::find(kLaunchWords, key, &LaunchWord::key);
  if (row == std::end(kLaunchWords)) {
    return Status(kErrNotSupported, "'canopy run' has no option for " + what);
  }
  if (AddAs(*row, info.value)) return Status();
  return Status(kErrBadParam,
                "the value of " + what + " is invalid or of a wrong type");
}

Result<std::vector<std::string>> Writer::Finish() && {
  if (stops_differ_) {
    return Status(kErrNotSupported,
                  "stops of different ranks at different places");
  }
  if (!stops_ || stops_->empty()) return std::move(words_);
  std::string list;
  for (const pmix_rank_t rank : *stops_) {
    list += (list.empty() ? "" : ",") + std::to_string(rank);
  }
  words_.insert(words_.end(), {"--stop-ranks", list});
  return std::move(words_);
}

}  // namespace

Result<std::vector<std::string>> LaunchWords(
    std::span<const pmix_info_t> directives) {
  Writer writer;
  for (const pmix_info_t& info : directives) {
    const Status status = writer.Add(info);
    if (!status.ok()) return status;
  }
  return std::move(writer).Finish();
}

}  // namespace canopy::tools
