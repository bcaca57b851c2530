// Determines the files of which a program would consist: the files that the
// dynamic loader of glibc (ld.so(8)) or of musl finds for the program and for
// all libraries that it is linked with. Nothing is executed.
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

// The relevant part of a process's environment.
struct LoaderEnvironment {
  std::string library_path;  // LD_LIBRARY_PATH
  std::string preload;       // LD_PRELOAD
};

struct LoadedObject {
  std::string name;  // the requested name
  std::string path;
  std::shared_ptr<const ElfFile> file;
  size_t loader = 0;  // index of the object that requested it first
};

struct MissingLibrary {
  std::string name;
  size_t loader = 0;
};

struct LinkClosure {
  // The program, the preloaded libraries, and the other libraries breadth
  // first: the order of symbol lookup.
  std::vector<LoadedObject> objects;
  std::vector<MissingLibrary> missing;

  // Finds an object by the requested name or by its soname. Returns null if
  // there is none.
  const LoadedObject* Find(std::string_view name) const;
};

// Returns true for the path of musl's dynamic loader.
bool IsMuslLoader(std::string_view interpreter);

// Opens each file once, for all calls of Resolve. Used by one thread.
class LinkResolver {
 public:
  // Relative paths are relative to `cwd`; empty: the current directory.
  explicit LinkResolver(std::string cwd);

  // Returns the objects that the program would consist of. Returns the errors
  // of ElfFile::Open for the program itself, and kErrOutOfResource for more
  // than 512 objects. Libraries for other machines are skipped, as the loader
  // does. Directories below glibc-hwcaps are not searched, and neither are
  // those of musl's file /etc/ld-musl-ARCH.path.
  Result<LinkClosure> Resolve(const std::string& program,
                              const LoaderEnvironment& environment);

  // Returns the files and directories on which the results so far depend, with
  // their state. While the state is unchanged, the results are valid.
  const std::map<std::string, FileStamp>& evidence() const { return evidence_; }
  // Records the state of another file.
  void Note(const std::string& path);

 private:
  struct Search {
    LinkClosure closure;
    std::string origin;  // the program's directory
    std::vector<std::string> library_path;
    // The loader's own directories, which are searched last, and whether its
    // index is used.
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
