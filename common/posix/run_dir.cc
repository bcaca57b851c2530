#include "common/posix/run_dir.h"

#include <unistd.h>

#include <algorithm>

namespace canopy {
namespace {

constexpr std::string_view kPrefix = "run-";
constexpr size_t kMaxDigits = 10;

bool IsNumber(std::string_view text) {
  return !text.empty() && text.size() <= kMaxDigits && text[0] != '0' &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string RunDirName(pid_t pid, int attempt) {
  std::string name = std::string(kPrefix) + std::to_string(pid);
  if (attempt > 1) name += "-" + std::to_string(attempt);
  return name;
}

bool IsRunDirName(std::string_view name) {
  if (name.substr(0, kPrefix.size()) != kPrefix) return false;
  name.remove_prefix(kPrefix.size());
  const size_t dash = name.find('-');
  return IsNumber(name.substr(0, dash)) &&
         (dash == std::string_view::npos || IsNumber(name.substr(dash + 1)));
}

bool IsRunDirPath(std::string_view path) {
  const size_t last = path.rfind('/');
  if (last == std::string_view::npos) return false;
  const std::string parent = "/canopy-" + std::to_string(geteuid());
  const std::string_view above = path.substr(0, last);
  return IsRunDirName(path.substr(last + 1)) && above.size() >= parent.size() &&
         above.substr(above.size() - parent.size()) == parent;
}

}  // namespace canopy
