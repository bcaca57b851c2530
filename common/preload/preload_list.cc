#include "common/preload/preload_list.h"

#include <algorithm>
#include <utility>

#include "common/shown_program.h"

namespace canopy::preload {
namespace {

constexpr size_t kMaxName = 4095;

std::string_view TakeUpTo(char separator, std::string_view* text) {
  const std::string_view part = text->substr(0, text->find(separator));
  text->remove_prefix(std::min(part.size() + 1, text->size()));
  return part;
}

std::string_view LastOf(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

std::string Below(const std::string& directory, std::string_view path) {
  if (path.starts_with('/') || directory.empty()) return std::string(path);
  return directory + "/" + std::string(path);
}

// Removes "." and empty components. Returns "" if the path contains ".." or
// nothing is left.
std::string Normal(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const std::string_view part = TakeUpTo('/', &path);
    if (part == "..") return "";
    if (part.empty() || part == ".") continue;
    if (!out.empty()) out += '/';
    out += part;
  }
  return out;
}

}  // namespace

std::string StagingNspace(const std::string& nspace) {
  return nspace + "-preload";
}

bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName && Normal(name) == name &&
         name.find('\0') == std::string_view::npos;
}

Status List::AddFiles(std::string_view names, const std::string& cwd) {
  while (!names.empty()) {
    const std::string_view file = TakeUpTo(',', &names);
    if (file.empty()) continue;
    const std::string name =
        Normal(file.starts_with('/') ? LastOf(file) : file);
    if (name.empty()) {
      return Status(kErrBadParam, "file \"" + std::string(file) +
                                      "\" cannot be preloaded: its name must "
                                      "be absolute, or without \"..\"");
    }
    Status added = Add({std::string(kFiles) + "/" + name, Below(cwd, file)});
    if (!added.ok()) return added;
  }
  return Status();
}

Status List::AddProgram(uint32_t app, const std::string& program,
                        const std::string& cwd, const std::string& path) {
  Item item{std::string(kPrograms) + "/" + std::to_string(app) + "/" +
                std::string(LastOf(program)),
            program};
  if (program.find('/') != std::string::npos) {
    item.source = Below(cwd, program);
  } else {
    item.path = path;
    item.cwd = cwd;
  }
  return Add(std::move(item));
}

Status List::Add(Item item) {
  if (!IsName(item.name)) {
    return Status(kErrBadParam,
                  "\"" + item.source + "\" is not the name of a file");
  }
  const auto known = std::ranges::find(items_, item.name, &Item::name);
  if (known != items_.end()) {
    if (*known == item) return Status();
    return Status(kErrBadParam, "two files to preload have the same name: \"" +
                                    known->source + "\" and \"" + item.source +
                                    "\"");
  }
  if (items_.size() == kMaxItems) {
    return Status(kErrOutOfResource, "too many files to preload");
  }
  items_.push_back(std::move(item));
  return Status();
}

std::string CopiedProgram(uint32_t app, const std::string& program) {
  return std::string(kCopiedBelow) + kPrograms + "/" + std::to_string(app) +
         "/" + std::string(LastOf(program));
}

std::string ResolveProgram(const std::string& program,
                           const std::string& job_directory) {
  if (!program.starts_with(kCopiedBelow)) return program;
  return job_directory + "/" + program.substr(kCopiedBelow.size());
}

}  // namespace canopy::preload
