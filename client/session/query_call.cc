#include "client/session/query_call.h"

#include <algorithm>
#include <utility>

#include "client/session/get_options.h"
#include "common/codec/infos.h"

namespace canopy::client {
namespace {

using support::Level;
using support::Levels;

// Returns whether the library answers for this level; the agent answers for the
// other levels.
bool IsHere(Level level) {
  return level == Level::kClient || level == Level::kTool;
}

std::vector<Level> Select(const std::vector<Level>& levels, bool here) {
  std::vector<Level> selected;
  for (const Level level : levels) {
    if (IsHere(level) == here) selected.push_back(level);
  }
  return selected;
}

Levels Part(const Levels& levels, bool here) {
  return {Select(levels.functions, here), Select(levels.attributes, here)};
}

// The library answers these keys itself. Like OpenPMIx, and in the same words,
// it reports that it declares no version of the Standard's ABI.
constexpr std::string_view kAbiKeys[] = {PMIX_QUERY_STABLE_ABI_VERSION,
                                         PMIX_QUERY_PROVISIONAL_ABI_VERSION};
constexpr char kNoAbiVersion[] = "0.0";

bool IsOfAbi(const std::string& key) {
  return std::ranges::count(kAbiKeys, key) > 0;
}

Levels LevelsOf(const InfoList& qualifiers) {
  std::vector<std::string> keys;
  for (const pmix_info_t& info : qualifiers) {
    if (BoolOf(info.value).value_or(false)) keys.emplace_back(KeyOf(info));
  }
  // LevelsOf ignores flags that do not name a level.
  Levels levels = support::LevelsOf(keys);
  if (levels.functions.empty() && levels.attributes.empty()) {
    levels = support::LevelsOf({});
  }
  return levels;
}

}  // namespace

int QueryCall::Start(const pmix_query_t* queries, size_t count) {
  if (queries == nullptr || count == 0) return PMIX_ERR_BAD_PARAM;
  for (size_t i = 0; i < count; ++i) {
    const int rc = ReadQuery(queries[i], &queries_.emplace_back());
    if (rc != PMIX_SUCCESS) return rc;
  }
  for (size_t i = 0; i < count; ++i) {
    if (queries_[i].of_support) {
      AddSupport(i);
    } else {
      only_support_ &= std::ranges::all_of(queries_[i].keys, IsOfAbi);
      AddKeys(i);
    }
  }
  return PMIX_SUCCESS;
}

// ----------------------------------------------------------------- here ---

void QueryCall::Add(size_t query, const std::string& key,
                    std::optional<Value> value) {
  const bool of_agent = !value && session_ != nullptr;
  slots_.push_back(
      {query, num_asked_, key, of_agent, value ? *std::move(value) : Value()});
}

void QueryCall::AddKeys(size_t query) {
  const QueryParts& parts = queries_[query];
  for (const std::string& key : parts.keys) {
    Add(query, key, FindHere(parts, key));
    ++num_asked_;
  }
}

std::optional<Value> QueryCall::FindHere(const QueryParts& parts,
                                         const std::string& key) const {
  if (IsOfAbi(key) && !parts.of_qualifiers) return Value::String(kNoAbiVersion);
  if (session_ == nullptr || !parts.here) return std::nullopt;
  if (parts.only_of_data) {
    if (auto value = FindData(parts, key)) return value;
  }
  return session_->query_cache().Find({key, parts.cache_key});
}

// Returns the data that PMIx_Get finds without a request.
std::optional<Value> QueryCall::FindData(const QueryParts& parts,
                                         const std::string& key) const {
  GetOptions options;
  if (ParseGetOptions(parts.realm.data(), parts.realm.size(), &options) !=
      PMIX_SUCCESS) {
    return std::nullopt;
  }
  const bool own =
      parts.proc.nspace.empty() || parts.proc.nspace == session_->self().nspace;
  Target target{own ? std::string_view(session_->self().nspace)
                    : std::string_view(parts.proc.nspace),
                parts.proc.rank};
  if (target.rank == kRankUndef) {
    target.rank = own ? session_->self().rank : kRankWildcard;
  }
  pmix_value_t raw = {};
  const LookupResult found =
      session_->lookup().Find(target, key, options, &raw);
  if (found.status != PMIX_SUCCESS) return std::nullopt;
  return Value::Adopt(&raw);
}

void QueryCall::AddSupport(size_t query) {
  const QueryParts& parts = queries_[query];
  const Levels levels = LevelsOf(parts.qualifiers);
  const Levels here = Part(levels, true);
  const Levels agent = Part(levels, false);
  AddFunctions(query, here, agent);
  for (size_t i = 1; i < parts.keys.size(); ++i) {
    const Value value = SupportHere(parts.keys[i], here);
    if (!value.empty()) Add(query, parts.keys[i], value);
    if (!agent.attributes.empty()) Add(query, parts.keys[i], std::nullopt);
    if (std::ranges::count(agent.attributes, Level::kHost) > 0 &&
        session_ != nullptr) {
      const auto declared = session_->registered().Of(parts.keys[i]);
      const InfoList host{{std::string(support::KeyOf(Level::kHost)),
                           support::RegattrArray(declared)}};
      if (!declared.empty()) Add(query, parts.keys[i], Value::InfoArray(host));
    }
    ++num_asked_;
  }
}

Value QueryCall::SupportHere(const std::string& function,
                             const Levels& levels) const {
  return levels.attributes.empty() ? Value()
                                   : support::AttributesOf(function, levels);
}

// Adds the lists of functions: those of the levels that this library answers,
// and then those of the agent's levels, in the order of the agent's answers.
void QueryCall::AddFunctions(size_t query, const Levels& here,
                             const Levels& agent) {
  for (auto& [key, names] : support::Functions(here)) {
    Add(query, key, Value::String(names));
    ++num_asked_;
  }
  for (const auto& [key, names] : support::Functions(agent)) {
    Add(query, key, std::nullopt);
    ++num_asked_;
  }
}

// ---------------------------------------------------------------- agent ---

std::optional<std::string> QueryCall::NextFrame() {
  if (error_ != PMIX_SUCCESS || session_ == nullptr) return std::nullopt;
  for (; next_query_ < queries_.size(); ++next_query_) {
    const QueryParts& parts = queries_[next_query_];
    std::vector<std::string> keys;
    for (const Slot& slot : slots_) {
      if (slot.query == next_query_ && slot.of_agent) keys.push_back(slot.key);
    }
    if (keys.empty()) continue;
    if (parts.of_support) keys = parts.keys;
    std::string frame;
    InfoList qualifiers = parts.qualifiers;
    if (parts.of_support) {
      // Requests the agent's own levels only; the library has answered the
      // others.
      qualifiers.Clear();
      const Levels levels = Part(LevelsOf(parts.qualifiers), false);
      for (const Level level : levels.attributes) {
        qualifiers.Add(support::KeyOf(level), Value::Bool(true));
      }
      for (const auto& [key, names] : support::Functions(levels)) {
        qualifiers.Add(key, Value::Bool(true));
      }
    }
    error_ = EncodeQuery(keys, qualifiers, &frame);
    if (error_ != PMIX_SUCCESS) return std::nullopt;
    sent_query_ = next_query_++;
    return frame;
  }
  return std::nullopt;
}

bool QueryCall::IsOnlyOfHost(size_t query) const {
  return std::ranges::all_of(slots_, [&](const Slot& slot) {
    return slot.query != query || !slot.of_agent || IsOfHost(slot.key);
  });
}

// Answers are in the order of the keys; keys without an answer are left out.
// Equal keys of one query have equal answers.
void QueryCall::Take(const Reply& reply) {
  if (reply.status == PMIX_ERR_NOT_FOUND) return;
  InfoList answers;
  if (reply.status != PMIX_SUCCESS &&
      reply.status != PMIX_ERR_PARTIAL_SUCCESS) {
    // The host has refused with a reason; other keys may have an answer.
    const bool of_host =
        reply.status != PMIX_ERR_BAD_PARAM && IsOnlyOfHost(sent_query_);
    (of_host ? host_error_ : error_) = reply.status;
    return;
  }
  if (!DecodeInfos(reply.payload, &answers)) {
    error_ = PMIX_ERR_UNPACK_FAILURE;
    return;
  }
  size_t next = 0;
  for (Slot& slot : slots_) {
    if (slot.query != sent_query_ || !slot.of_agent) continue;
    if (next == answers.size() || KeyOf(answers[next]) != slot.key) continue;
    slot.value = Value::FromC(answers[next++].value);
    const QueryParts& parts = queries_[sent_query_];
    if (!parts.of_support && !parts.of_qualifiers) {
      session_->query_cache().Put({slot.key, parts.cache_key}, slot.value);
    }
  }
}

int QueryCall::Finish(InfoList* answers) {
  if (error_ != PMIX_SUCCESS) return error_;
  std::vector<bool> answered(num_asked_);
  for (Slot& slot : slots_) {
    if (slot.value.empty()) continue;
    answered[slot.asked] = true;
    answers->Add(slot.key, std::move(slot.value));
  }
  if (answers->empty()) {
    return host_error_ == PMIX_SUCCESS ? PMIX_ERR_NOT_FOUND : host_error_;
  }
  const bool all = std::ranges::count(answered, false) == 0;
  return all ? PMIX_SUCCESS : PMIX_ERR_PARTIAL_SUCCESS;
}

}  // namespace canopy::client
