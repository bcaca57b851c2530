#include "server/process/finding_cache.h"

#include <array>

#include "common/wire.h"

namespace canopy::process {
namespace {

constexpr size_t kMaxEntries = 128;
constexpr size_t kMaxFinding = 64u << 10;

// Variables that affect the dynamic loader or the search for a program.
constexpr std::array<std::string_view, 3> kVariables = {
    "PATH=", "LD_LIBRARY_PATH=", "LD_PRELOAD="};

void PutVariables(const std::vector<std::string>& env, WireWriter* w) {
  for (const std::string& entry : env) {
    for (const std::string_view name : kVariables) {
      if (entry.starts_with(name)) w->String(entry);
    }
  }
}

}  // namespace

std::string FindingKey(const PrepareJob& job, const AppSpec& app) {
  WireWriter w;
  w.Uint(job.uid);
  w.Uint(job.gid);
  w.String(app.program);
  w.String(app.cwd);
  w.String(job.library);
  PutVariables(job.env, &w);
  w.String("");
  PutVariables(app.env, &w);
  w.Strings(app.own_library_env);
  return w.Take();
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
