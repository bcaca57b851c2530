// Which files a program would be made of: what the dynamic loader of glibc
// finds for it and for all libraries that it is linked with (ld.so(8)), without
// running anything.
#ifndef CANOPY_COMMON_LOADER_LINK_CLOSURE_H_
#define CANOPY_COMMON_LOADER_LINK_CLOSURE_H_

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/loader/elf_file.h"
#include "common/loader/ld_cache.h"
#include "common/status.h"

namespace canopy::loader {

// What of a process's environment decides.
struct LoaderEnvironment {
  std::string library_path;  // LD_LIBRARY_PATH
  std::string preload;       // LD_PRELOAD
};

struct LoadedObject {
  std::string name;  // as it was asked for
  std::string path;
  std::shared_ptr<const ElfFile> file;
  size_t loader = 0;  // index of the object that asked for it first
};

struct MissingLibrary {
  std::string name;
  size_t loader = 0;
};

struct LinkClosure {
  // The program, what is loaded before anything else, and the libraries,
  // breadth first: the order in which symbols are looked up.
  std::vector<LoadedObject> objects;
  std::vector<MissingLibrary> missing;

  // By the name that it was asked for or gives itself; null: not there.
  const LoadedObject* Find(std::string_view name) const;
};

// Opens each file once, for all closures that are asked for. One thread.
class LinkResolver {
 public:
  // What is relative is relative to `cwd`; empty: the current directory.
  explicit LinkResolver(std::string cwd);

  // Errors as of ElfFile::Open for the program itself; kErrOutOfResource for
  // more than 512 objects. Libraries for other machines are passed over, as the
  // loader does; those in glibc-hwcaps below a directory are not looked for.
  Result<LinkClosure> Resolve(const std::string& program,
                              const LoaderEnvironment& environment);

  // The files and directories that decided so far, and their state: while that
  // is the same, so is the result.
  const std::map<std::string, FileStamp>& evidence() const { return evidence_; }
  // Notes the state of one more.
  void Note(const std::string& path);

 private:
  struct Search {
    LinkClosure closure;
    std::string origin;  // the program's directory
    std::vector<std::string> library_path;
    // Directories of the loader itself, which it searches last; and its index.
    std::vector<std::string> last;
    bool uses_cache = true;
  };
  using File = std::shared_ptr<const ElfFile>;

  Result<File> Open(const std::string& path);
  void SetDefaults(const ElfFile& program, Search* search) const;
  bool Load(const std::string& name, size_t loader, Search* search);
  std::optional<LoadedObject> Locate(const std::string& name, size_t loader,
                                     const Search& search);
  std::optional<LoadedObject> TryDirectories(
      const std::vector<std::string>& directories, const std::string& name,
      const Search& search);
  std::optional<LoadedObject> TryPath(const std::string& path,
                                      const Search& search);
  std::vector<std::string> Directories(std::string_view list,
                                       std::string_view separators,
                                       const std::string& origin) const;
  std::vector<std::string> RpathDirectories(size_t loader,
                                            const Search& search) const;
  static std::string OriginOf(size_t object, const Search& search);
  std::string Absolute(std::string_view path) const;
  const LdCache& Cache();

  const std::string cwd_;
  std::map<std::string, File> files_;
  std::map<std::string, FileStamp> evidence_;
  std::optional<LdCache> cache_;
};

}  // namespace canopy::loader

#endif  // CANOPY_COMMON_LOADER_LINK_CLOSURE_H_
