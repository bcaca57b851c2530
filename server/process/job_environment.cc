#include "server/process/job_environment.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <unordered_set>

namespace canopy::process {
namespace {

constexpr std::string_view kLibraryPath = "LD_LIBRARY_PATH";
constexpr std::string_view kPreload = "LD_PRELOAD";
constexpr std::string_view kLibraryName = "libpmix.so.2";

std::string_view NameOf(std::string_view entry) {
  return entry.substr(0, entry.find('='));
}

bool Matches(std::string_view name, std::string_view pattern) {
  if (!pattern.ends_with('*')) return name == pattern;
  pattern.remove_suffix(1);
  return name.starts_with(pattern);
}

class Filter {
 public:
  Filter(const std::vector<std::string>& contributed,
         const std::vector<std::string>& unset)
      : unset_(unset) {
    for (const std::string& entry : contributed) {
      contributed_.insert(NameOf(entry));
    }
  }

  bool Keeps(std::string_view name) const {
    return !contributed_.contains(name) &&
           std::none_of(
               unset_.begin(), unset_.end(),
               [name](const std::string& p) { return Matches(name, p); });
  }

  void Append(const std::vector<std::string>& from,
              std::vector<std::string>* to) const {
    for (const std::string& entry : from) {
      if (Keeps(NameOf(entry))) to->push_back(entry);
    }
  }

 private:
  std::unordered_set<std::string_view> contributed_;
  const std::vector<std::string>& unset_;
};

// Returns the value of the last entry of that name, or an empty string.
std::string_view Lookup(const std::vector<std::string>& entries,
                        std::string_view name) {
  for (auto it = entries.rbegin(); it != entries.rend(); ++it) {
    const std::string_view entry = *it;
    if (NameOf(entry) == name && entry.size() > name.size()) {
      return entry.substr(name.size() + 1);
    }
  }
  return {};
}

std::string_view Inherited(std::string_view name,
                           const std::vector<std::string>& base,
                           const std::vector<std::string>& app) {
  const std::string_view value = Lookup(app, name);
  return value.empty() ? Lookup(base, name) : value;
}

std::string Entry(std::string_view name, const std::string& value) {
  return std::string(name) + "=" + value;
}

std::string WithFirst(const std::string& first, std::string_view list) {
  return list.empty() ? first : first + ":" + std::string(list);
}

// Returns true if both paths lead to the same directory, through any links.
bool IsDirectory(std::string_view path, const std::string& directory) {
  if (path == directory) return true;
  std::error_code error;
  return path.starts_with('/') &&
         std::filesystem::equivalent(path, directory, error);
}

std::string Without(const std::string& unwanted, std::string_view list) {
  std::string out;
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(':'));
    list.remove_prefix(std::min(item.size() + 1, list.size()));
    if (IsDirectory(item, unwanted)) continue;
    if (!out.empty()) out += ':';
    out += item;
  }
  return out;
}

// Returns the entries for one application and one kind of injection.
std::vector<std::string> LibraryEntries(canopy::Inject inject,
                                        const std::string& library,
                                        std::string_view path,
                                        std::string_view preload) {
  const std::string directory = library.substr(0, library.rfind('/'));
  if (inject == canopy::Inject::kNever) {
    // The launcher may itself run in a job with an injected library; the
    // LD_LIBRARY_PATH that it passes on then contains the directory of the
    // library.
    const std::string rest = Without(directory, path);
    if (rest == path) return {};
    return {Entry(kLibraryPath, rest)};
  }
  // LD_LIBRARY_PATH affects programs that have no RPATH; LD_PRELOAD affects all
  // programs.
  std::vector<std::string> out = {
      Entry(kLibraryPath, WithFirst(directory, path))};
  if (inject == canopy::Inject::kAlways) {
    out.push_back(Entry(kPreload, WithFirst(library, preload)));
  }
  return out;
}

void Inject(canopy::Inject inject, const std::string& directory,
            JobEnvironment* out) {
  const std::string library = directory + "/" + std::string(kLibraryName);
  if (inject != canopy::Inject::kNever) out->library = library;
  for (std::vector<std::string>& app : out->apps) {
    const std::string path(Inherited(kLibraryPath, out->base, app));
    const std::string preload(Inherited(kPreload, out->base, app));
    for (std::string& entry : LibraryEntries(inject, library, path, preload)) {
      app.push_back(std::move(entry));
    }
    if (inject == canopy::Inject::kNever) continue;
    std::vector<std::string> own = {
        Entry(kLibraryPath, Without(directory, path))};
    if (inject == canopy::Inject::kAlways) {
      own.push_back(Entry(kPreload, preload));
    }
    out->own_library.push_back(std::move(own));
  }
}

}  // namespace

const std::string& WorkingDirectory(const JobSpec& job, const JobApp& app) {
  return app.cwd.empty() ? job.cwd : app.cwd;
}

JobEnvironment BuildJobEnvironment(const JobSpec& job,
                                   const std::vector<std::string>& contributed,
                                   const EnvironmentRules& rules) {
  const Filter filter(contributed, rules.unset);
  JobEnvironment out;
  filter.Append(job.env, &out.base);
  out.base.insert(out.base.end(), contributed.begin(), contributed.end());
  for (const JobApp& app : job.apps) {
    std::vector<std::string> env;
    const std::string& cwd = WorkingDirectory(job, app);
    if (cwd.starts_with('/')) env.push_back("PWD=" + cwd);
    filter.Append(app.env, &env);
    out.apps.push_back(std::move(env));
  }
  if (!rules.library_dir.empty()) {
    Inject(job.inject, rules.library_dir, &out);
  }
  return out;
}

}  // namespace canopy::process
