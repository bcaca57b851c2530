#include "server/pmi/key_values.h"

#include <vector>

#include "common/codec/decoder.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/pmi/request.h"
#include "server/pmi/spawn_hints.h"

namespace canopy::pmi {
namespace {

constexpr std::string_view kNodePrefix = "|node|";
constexpr std::string_view kRingPrefix = "|ring";
// The first byte of keys that are not in a job's key-value space.
constexpr char kMark = '|';

constexpr char kProcessMapping[] = "PMI_process_mapping";

std::optional<std::string> TextOf(const std::optional<std::string>& encoded) {
  if (!encoded) return std::nullopt;
  const Result<Value> value = DecodeValue(*encoded);
  if (!value.ok()) return std::nullopt;
  const auto text = value->AsString();
  if (!text || text->size() >= kValueMax) return std::nullopt;
  return std::string(*text);
}

// Returns the value of a pair that the job's spawner put in advance.
std::optional<std::string> PreputValue(const Connection& c,
                                       const std::string& key) {
  if (c.job->parent.nspace.empty()) return std::nullopt;
  for (const std::string& entry :
       c.job->apps[c.job->procs[c.proc.rank].app].env) {
    auto value = PreputValueIn(entry, key);
    if (value && value->size() < kValueMax) return value;
  }
  return std::nullopt;
}

std::optional<std::string> ListOf(const std::vector<Rank>& ranks) {
  std::string text;
  for (const Rank rank : ranks) {
    if (!text.empty()) text.push_back(',');
    text += std::to_string(rank);
    if (text.size() >= kValueMax) return std::nullopt;
  }
  return text;
}

}  // namespace

bool IsKey(const std::string& key) {
  return !key.empty() && key.size() < kKeyMax && !key.starts_with("pmix") &&
         key[0] != kMark && key.find('\0') == key.npos;
}

std::string NodeKey(const std::string& name) {
  return std::string(kNodePrefix) + name;
}

std::string RingKey(bool is_odd, Rank rank) {
  return std::string(kRingPrefix) + (is_odd ? "1-" : "0-") +
         std::to_string(rank);
}

std::string KeyValues::RingValue(const Connection& c, bool is_odd,
                                 Rank rank) const {
  const std::string key = RingKey(is_odd, rank);
  return TextOf(options_->find_key(c.proc.nspace, key)).value_or("");
}

std::optional<std::string> KeyValues::Find(const Connection& c,
                                           const std::string& key) const {
  if (key == kProcessMapping) return JobAttribute(c, key);
  std::optional<std::string> value = FindOf(c.proc.nspace, key);
  return value || !IsKey(key) ? value : PreputValue(c, key);
}

std::optional<std::string> KeyValues::FindOf(const std::string& job,
                                             const std::string& key) const {
  if (!IsKey(key)) return std::nullopt;
  return TextOf(options_->find_key(job, key));
}

std::optional<std::string> KeyValues::NodeAttribute(
    const Connection& c, const std::string& name) const {
  const Jobs::Job* const job = jobs_->Find(c.proc.nspace);
  if (job == nullptr || !IsKey(name)) return std::nullopt;
  const std::vector<Rank>& here = job->layout->ranks_of_agent(jobs_->self());
  if (name == "localRanks") return ListOf(here);
  if (name == "localRanksCount") return std::to_string(here.size());
  return TextOf(options_->find_key(c.proc.nspace, NodeKey(name)));
}

std::optional<std::string> KeyValues::JobAttribute(
    const Connection& c, std::string_view name) const {
  if (name == kProcessMapping)
    return TextOf(options_->find_job_key(c.proc.nspace, PMIX_ANL_MAP));
  if (name == "universeSize") return std::to_string(c.job->universe_size);
  if (name == "hasNameServ") return "TRUE";
  return std::nullopt;
}

}  // namespace canopy::pmi
