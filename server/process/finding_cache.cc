#include "server/process/finding_cache.h"

#include <array>

#include "common/describe.h"

namespace canopy::process {
namespace {

constexpr size_t kMaxEntries = 128;
constexpr size_t kMaxFinding = 64u << 10;

// Variables that affect the dynamic loader or the search for a program.
constexpr std::array<std::string_view, 3> kVariables = {
    "PATH=", "LD_LIBRARY_PATH=", "LD_PRELOAD="};

// The circumstances on which a finding depends, except the files.
struct Question {
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::string_view program;
  std::string_view cwd;
  std::string_view library;
  std::vector<std::string_view> job_env;
  std::vector<std::string_view> app_env;
  std::vector<std::string_view> own_library_env;
};

template <typename V>
void Describe(V& v, wire::Is<Question> auto& m) {
  v.Field(1, m.uid);
  v.Field(2, m.gid);
  v.Field(3, m.program);
  v.Field(4, m.cwd);
  v.Field(5, m.library);
  v.Field(6, m.job_env);
  v.Field(7, m.app_env);
  v.Field(8, m.own_library_env);
}

std::vector<std::string_view> VariablesIn(const std::vector<std::string>& env) {
  std::vector<std::string_view> found;
  for (const std::string& entry : env) {
    for (const std::string_view name : kVariables) {
      if (entry.starts_with(name)) found.push_back(entry);
    }
  }
  return found;
}

}  // namespace

std::string FindingKey(const PrepareJob& job, const AppSpec& app) {
  return wire::Encode(
      Question{job.uid,
               job.gid,
               app.program,
               app.cwd,
               job.library,
               VariablesIn(job.env),
               VariablesIn(app.env),
               {app.own_library_env.begin(), app.own_library_env.end()}});
}

std::string FindingCache::Get(const std::string& key) {
  const auto known = index_.find(key);
  if (known == index_.end()) return "";
  entries_.splice(entries_.begin(), entries_, known->second);
  return known->second->second;
}

void FindingCache::Put(const std::string& key, std::string finding) {
  if (finding.size() + key.size() > kMaxFinding) return;
  const auto known = index_.find(key);
  if (known != index_.end()) {
    known->second->second = std::move(finding);
    return;
  }
  entries_.emplace_front(key, std::move(finding));
  index_.emplace(entries_.front().first, entries_.begin());
  if (entries_.size() <= kMaxEntries) return;
  index_.erase(entries_.back().first);
  entries_.pop_back();
}

}  // namespace canopy::process
