#include "server/shim/environment.h"

#include <utility>

namespace canopy::process {

void Environment::Set(std::string entry) {
  const size_t name = entry.find('=');
  if (name == std::string::npos || name == 0) return;
  const auto [it, added] =
      index_.try_emplace(entry.substr(0, name), entries_.size());
  if (added) {
    entries_.push_back(std::move(entry));
  } else {
    entries_[it->second] = std::move(entry);
  }
}

void Environment::SetAll(const std::vector<std::string>& entries) {
  for (const std::string& entry : entries) Set(entry);
}

const char* Environment::Get(std::string_view name) const {
  const auto it = index_.find(std::string(name));
  if (it == index_.end()) return nullptr;
  return entries_[it->second].c_str() + name.size() + 1;
}

std::vector<char*> Environment::Overlay(
    const std::vector<std::string>& entries) const {
  std::vector<char*> out;
  out.reserve(entries_.size() + entries.size() + 1);
  for (const std::string& entry : entries_) {
    out.push_back(const_cast<char*>(entry.c_str()));
  }
  for (const std::string& entry : entries) {
    const size_t name = entry.find('=');
    if (name == std::string::npos || name == 0) continue;
    const auto it = index_.find(entry.substr(0, name));
    char* const text = const_cast<char*>(entry.c_str());
    if (it != index_.end()) {
      out[it->second] = text;
    } else {
      out.push_back(text);
    }
  }
  out.push_back(nullptr);
  return out;
}

}  // namespace canopy::process
