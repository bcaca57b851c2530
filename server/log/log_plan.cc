#include "server/log/log_plan.h"

#include <syslog.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "common/required.h"
#include "common/status.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/ports/process_text.h"

namespace canopy::log {
namespace {

// The style that the directives read so far require.
struct Style {
  bool once = false;
  bool tag = false;
  bool print_time = false;
  time_t time = 0;
  int priority = LOG_ERR;
  // As in OpenPMIx, a request with a key and a value is aggregated by default.
  bool gather = true;
  std::string key;
  std::string value;
};

bool Flag(const pmix_info_t& info) {
  return BoolOf(info.value).value_or(false);
}

bool IsRequired(const pmix_info_t& info) { return MustHonour(info.flags); }

bool TakeKind(const pmix_info_t& info, std::string* out) {
  const auto text = StringOf(info.value);
  if (!text || text->size() > ProcessText::kMaxKind / 2) return false;
  *out = *text;
  return true;
}

// Each of these returns true if the directive is supported.
bool TakeOnce(const pmix_info_t& info, const ProcId&, Style* style) {
  style->once = Flag(info);
  return true;
}
bool TakeTag(const pmix_info_t& info, const ProcId&, Style* style) {
  style->tag = Flag(info);
  return true;
}
bool TakePrintTime(const pmix_info_t& info, const ProcId&, Style* style) {
  style->print_time = Flag(info);
  return true;
}
bool TakeTime(const pmix_info_t& info, const ProcId&, Style* style) {
  if (info.value.type != PMIX_TIME) return false;
  style->time = info.value.data.time;
  return true;
}
// Accepts only a severity. If a text had a facility, it would seem to come from
// another kind of program.
bool TakePriority(const pmix_info_t& info, const ProcId&, Style* style) {
  const auto priority = Int64Of(info.value);
  if (!priority || *priority < LOG_EMERG || *priority > LOG_DEBUG) return false;
  style->priority = static_cast<int>(*priority);
  return true;
}
bool TakeGather(const pmix_info_t& info, const ProcId&, Style* style) {
  style->gather = Flag(info);
  return true;
}
bool TakeKey(const pmix_info_t& info, const ProcId&, Style* style) {
  return TakeKind(info, &style->key);
}
bool TakeValue(const pmix_info_t& info, const ProcId&, Style* style) {
  return TakeKind(info, &style->value);
}
// Accepts only the caller, because texts appear in the caller's output.
bool TakeSource(const pmix_info_t& info, const ProcId& caller, Style*) {
  return ProcOf(info.value) == caller;
}
// Accepts the directive, because the library sends the time stamp itself.
bool TakeAsDone(const pmix_info_t&, const ProcId&, Style*) { return true; }
bool TakeUnlessTrue(const pmix_info_t& info, const ProcId&, Style*) {
  return !Flag(info);
}

struct Directive {
  std::string_view key;
  bool (*take)(const pmix_info_t&, const ProcId& caller, Style*);
};

constexpr Directive kDirectives[] = {
    {PMIX_LOG_ONCE, TakeOnce},
    {PMIX_LOG_TAG_OUTPUT, TakeTag},
    {PMIX_LOG_TIMESTAMP_OUTPUT, TakePrintTime},
    {PMIX_LOG_TIMESTAMP, TakeTime},
    {PMIX_LOG_GENERATE_TIMESTAMP, TakeAsDone},
    {PMIX_LOG_SOURCE, TakeSource},
    {PMIX_LOG_AGG, TakeGather},
    {PMIX_LOG_KEY, TakeKey},
    {PMIX_LOG_VAL, TakeValue},
    {PMIX_LOG_XML_OUTPUT, TakeUnlessTrue},
    {PMIX_LOG_SYSLOG_PRI, TakePriority},
    {PMIX_USERID, TakeAsDone},
    {PMIX_GRPID, TakeAsDone},
};

const Directive* FindDirective(std::string_view key) {
  const auto* it = std::ranges::find(kDirectives, key, &Directive::key);
  return it == std::end(kDirectives) ? nullptr : it;
}

// Applies a directive. Returns false if it is required and not supported.
bool Apply(const pmix_info_t& info, const ProcId& caller, Style* style,
           LogPlan* plan) {
  const Directive* directive = FindDirective(KeyOf(info));
  if (directive != nullptr && directive->take(info, caller, style)) return true;
  if (IsRequired(info)) return false;
  plan->ignored.emplace_back(KeyOf(info));
  return true;
}

bool ApplyAll(const InfoList& data, const InfoList& directives,
              const ProcId& caller, Style* style, LogPlan* plan) {
  const auto apply = [&](const pmix_info_t& info) {
    return Apply(info, caller, style, plan);
  };
  return std::ranges::all_of(directives, apply) &&
         std::ranges::all_of(data, [&](const pmix_info_t& info) {
           return FindDirective(KeyOf(info)) == nullptr || apply(info);
         });
}

std::string TimeText(time_t time) {
  tm parts = {};
  char text[32] = "";
  if (gmtime_r(&time, &parts) == nullptr) return "";
  strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ ", &parts);
  return text;
}

std::string Decorated(const Style& style, std::string_view channel,
                      std::string_view text) {
  std::string out;
  if (style.print_time) out += TimeText(style.time);
  if (style.tag) out += std::string(channel) + ": ";
  return out += text;
}

struct ServedChannel {
  std::string_view key;
  Channel channel;
  std::string_view name;
};

// The supported channels. PMIX_LOG_SYSLOG stands for any available syslog.
constexpr ServedChannel kChannels[] = {
    {PMIX_LOG_STDOUT, Channel::kStdout, "stdout"},
    {PMIX_LOG_STDERR, Channel::kStderr, "stderr"},
    {PMIX_LOG_SYSLOG, Channel::kSyslog, "syslog"},
    {PMIX_LOG_LOCAL_SYSLOG, Channel::kSyslog, "syslog"},
};

// Returns the entry for an item of data; no value for a channel that is not
// supported.
std::optional<Entry> EntryOf(const pmix_info_t& info, const Style& style) {
  const auto* channel =
      std::ranges::find(kChannels, KeyOf(info), &ServedChannel::key);
  const auto text = StringOf(info.value);
  if (!text || channel == std::end(kChannels)) return std::nullopt;
  return Entry{channel->channel, Decorated(style, channel->name, *text),
               style.priority};
}

int TakeTexts(const InfoList& data, const Style& style, LogPlan* plan) {
  bool all = true;
  for (const pmix_info_t& info : data) {
    if (FindDirective(KeyOf(info)) != nullptr) continue;
    auto entry = EntryOf(info, style);
    if (!entry && IsRequired(info)) return kErrNotSupported;
    all = all && entry;
    if (entry) plan->entries.push_back(*std::move(entry));
  }
  if (plan->entries.empty()) return kErrNotSupported;
  return all || style.once ? kSuccess : kErrPartialSuccess;
}

}  // namespace

LogPlan PlanLog(const InfoList& data, const InfoList& directives, time_t stamp,
                const ProcId& caller, time_t now) {
  LogPlan plan;
  Style style;
  style.time = stamp != 0 ? stamp : now;
  plan.status = ApplyAll(data, directives, caller, &style, &plan)
                    ? TakeTexts(data, style, &plan)
                    : kErrNotSupported;
  if (plan.status == kErrNotSupported) plan.entries.clear();
  plan.once = style.once;
  plan.time = style.time;
  if (style.gather && !style.key.empty() && !style.value.empty()) {
    plan.key = std::move(style.key);
    plan.value = std::move(style.value);
  }
  return plan;
}

}  // namespace canopy::log
