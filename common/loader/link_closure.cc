#include "common/loader/link_closure.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <utility>

namespace canopy::loader {
namespace {

constexpr size_t kMaxObjects = 512;

// Directories that distributions build into their loader. Libraries of another
// word size in them are skipped because of their header.
constexpr std::array kSystemDirectories = {"/lib/x86_64-linux-gnu",
                                           "/usr/lib/x86_64-linux-gnu",
                                           "/lib/aarch64-linux-gnu",
                                           "/usr/lib/aarch64-linux-gnu",
                                           "/lib/i386-linux-gnu",
                                           "/usr/lib/i386-linux-gnu",
                                           "/lib64",
                                           "/usr/lib64",
                                           "/lib",
                                           "/usr/lib"};
// The directories that are built into musl's loader.
constexpr std::array kMuslDirectories = {"/lib", "/usr/local/lib", "/usr/lib"};
// Possible values of $LIB.
constexpr std::array kLibNames = {"lib/x86_64-linux-gnu",
                                  "lib/aarch64-linux-gnu", "lib64", "lib"};

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string RealPath(const std::string& path) {
  char buffer[PATH_MAX];
  return realpath(path.c_str(), buffer) == nullptr ? path : buffer;
}

// Returns false if the token does not occur.
bool ReplaceToken(std::string* text, const std::string& name,
                  const std::string& value) {
  bool replaced = false;
  for (const std::string& token : {"${" + name + "}", "$" + name}) {
    for (size_t at = 0; (at = text->find(token, at)) != std::string::npos;) {
      text->replace(at, token.size(), value);
      at += value.size();
      replaced = true;
    }
  }
  return replaced;
}

// Returns the directories for one element of a library search path: replaces
// $ORIGIN by `origin`, $PLATFORM by the machine's name, and $LIB by each of
// kLibNames in turn.
std::vector<std::string> Expand(std::string element,
                                const std::string& origin) {
  ReplaceToken(&element, "ORIGIN", origin);
  const auto* platform = reinterpret_cast<const char*>(getauxval(AT_PLATFORM));
  ReplaceToken(&element, "PLATFORM", platform == nullptr ? "" : platform);
  std::vector<std::string> out;
  for (const char* lib : kLibNames) {
    std::string directory = element;
    const bool several = ReplaceToken(&directory, "LIB", lib);
    out.push_back(std::move(directory));
    if (!several) break;
  }
  return out;
}

std::vector<std::string> Split(std::string_view list,
                               std::string_view separators) {
  std::vector<std::string> out;
  if (list.empty()) return out;
  for (;;) {
    const size_t end = list.find_first_of(separators);
    out.emplace_back(list.substr(0, end));
    if (end == std::string_view::npos) return out;
    list.remove_prefix(end + 1);
  }
}

bool InSystemDirectory(const std::string& interpreter) {
  return interpreter.starts_with("/lib") || interpreter.starts_with("/usr/lib");
}

}  // namespace

const LoadedObject* LinkClosure::Find(std::string_view name) const {
  const auto it = std::ranges::find_if(objects, [&](const LoadedObject& o) {
    return o.name == name || o.file->soname() == name;
  });
  return it == objects.end() ? nullptr : &*it;
}

LinkResolver::LinkResolver(std::string cwd) : cwd_(std::move(cwd)) {}

void LinkResolver::Note(const std::string& path) {
  if (!evidence_.contains(path)) evidence_.emplace(path, StampOf(path));
}

Result<LinkResolver::File> LinkResolver::Open(const std::string& path) {
  const auto known = files_.find(path);
  if (known != files_.end()) return known->second;
  Result<ElfFile> file = ElfFile::Open(path);
  if (!file.ok()) {
    Note(path);
    return file.status();
  }
  evidence_[path] = file->stamp();
  File shared = std::make_shared<const ElfFile>(std::move(*file));
  files_.emplace(path, shared);
  return shared;
}

std::string LinkResolver::Absolute(std::string_view path) const {
  if (path.starts_with('/')) return std::string(path);
  const std::string base = cwd_.empty() ? "." : cwd_;
  return path.empty() ? base : base + "/" + std::string(path);
}

std::vector<std::string> LinkResolver::Directories(
    std::string_view list, std::string_view separators,
    const std::string& origin) const {
  std::vector<std::string> out;
  for (const std::string& element : Split(list, separators)) {
    for (const std::string& directory : Expand(element, origin)) {
      out.push_back(Absolute(directory));
    }
  }
  return out;
}

// Sets the directories that are searched last. If the loader is in a directory
// of its own, it has its own libraries there and does not use this machine's
// index.
bool IsMuslLoader(std::string_view interpreter) {
  return interpreter.substr(interpreter.rfind('/') + 1).starts_with("ld-musl");
}

void LinkResolver::SetDefaults(const ElfFile& program, Search* search) const {
  const std::string& interpreter = program.interpreter();
  if (IsMuslLoader(interpreter)) {
    search->last.assign(kMuslDirectories.begin(), kMuslDirectories.end());
    search->uses_cache = false;
  } else if (interpreter.empty() || InSystemDirectory(interpreter)) {
    search->last.assign(kSystemDirectories.begin(), kSystemDirectories.end());
  } else {
    search->last = {DirectoryOf(interpreter)};
    search->uses_cache = false;
  }
}

Result<LinkClosure> LinkResolver::Resolve(
    const std::string& program, const LoaderEnvironment& environment) {
  const std::string path = Absolute(program);
  Result<File> file = Open(path);
  if (!file.ok()) return file.status();
  Search search;
  search.origin = DirectoryOf(RealPath(path));
  search.library_path =
      Directories(environment.library_path, ":;", search.origin);
  SetDefaults(**file, &search);
  search.closure.objects.push_back({program, path, *file, 0});
  if (!(*file)->dynamic()) return std::move(search.closure);
  for (const std::string& name : Split(environment.preload, ": ")) {
    if (!name.empty()) (void)Load(name, 0, &search);
  }
  for (size_t i = 0; i < search.closure.objects.size(); ++i) {
    const File object = search.closure.objects[i].file;
    for (const std::string& name : object->needed()) {
      if (search.closure.objects.size() == kMaxObjects) {
        return Status(kErrOutOfResource, program + ": too many libraries");
      }
      if (!Load(name, i, &search)) {
        search.closure.missing.push_back({name, i});
      }
    }
  }
  return std::move(search.closure);
}

bool LinkResolver::Load(const std::string& name, size_t loader,
                        Search* search) {
  if (search->closure.Find(name) != nullptr) return true;
  std::optional<LoadedObject> found = Locate(name, loader, *search);
  if (!found) return false;
  const bool there = std::ranges::any_of(
      search->closure.objects, [&](const LoadedObject& object) {
        return object.file->stamp() == found->file->stamp();
      });
  if (there) return true;
  found->name = name;
  found->loader = loader;
  search->closure.objects.push_back(std::move(*found));
  return true;
}

std::string LinkResolver::OriginOf(size_t object, const Search& search) {
  return object == 0 ? search.origin
                     : DirectoryOf(search.closure.objects[object].path);
}

// Returns the rpaths of the requesting object, of the object that requested
// this object, and so on up to the program. No rpath applies if the requesting
// object has a runpath.
std::vector<std::string> LinkResolver::RpathDirectories(
    size_t loader, const Search& search) const {
  std::vector<std::string> out;
  const auto& objects = search.closure.objects;
  if (!objects[loader].file->runpath().empty()) return out;
  for (size_t i = loader;; i = objects[i].loader) {
    for (std::string& directory :
         Directories(objects[i].file->rpath(), ":", OriginOf(i, search))) {
      out.push_back(std::move(directory));
    }
    if (i == 0) return out;
  }
}

std::optional<LoadedObject> LinkResolver::Locate(const std::string& name,
                                                 size_t loader,
                                                 const Search& search) {
  if (name.find('/') != std::string::npos) {
    return TryPath(Absolute(name), search);
  }
  const ElfFile& asker = *search.closure.objects[loader].file;
  auto found = TryDirectories(RpathDirectories(loader, search), name, search);
  if (!found) found = TryDirectories(search.library_path, name, search);
  if (!found && !asker.runpath().empty()) {
    found = TryDirectories(
        Directories(asker.runpath(), ":", OriginOf(loader, search)), name,
        search);
  }
  if (found || asker.no_default_directories()) return found;
  if (search.uses_cache) {
    for (const std::string& path : Cache().Find(name)) {
      if ((found = TryPath(path, search))) return found;
    }
  }
  return TryDirectories(search.last, name, search);
}

std::optional<LoadedObject> LinkResolver::TryDirectories(
    const std::vector<std::string>& directories, const std::string& name,
    const Search& search) {
  for (const std::string& directory : directories) {
    Note(directory);
    auto found = TryPath(directory + "/" + name, search);
    if (found) return found;
  }
  return std::nullopt;
}

std::optional<LoadedObject> LinkResolver::TryPath(const std::string& path,
                                                  const Search& search) {
  const ElfFile& program = *search.closure.objects[0].file;
  if (access(path.c_str(), F_OK) != 0) return std::nullopt;
  Result<File> file = Open(path);
  if (!file.ok() || (*file)->bits() != program.bits() ||
      (*file)->machine() != program.machine()) {
    return std::nullopt;
  }
  return LoadedObject{"", path, *file, 0};
}

const LdCache& LinkResolver::Cache() {
  if (!cache_) {
    Note(kLdCachePath);
    cache_ = LdCache::Read(kLdCachePath);
  }
  return *cache_;
}

}  // namespace canopy::loader
