// What the dynamic loader reads of a program or shared library: which libraries
// it needs, where these are looked for, and which symbols it defines and wants
// (System V ABI, "Dynamic Linking"). Files are read, never mapped, so that one
// that shrinks meanwhile is an error and no signal; whatever is in them, memory
// and time are bounded.
#ifndef CANOPY_COMMON_LOADER_ELF_FILE_H_
#define CANOPY_COMMON_LOADER_ELF_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace canopy::loader {

// Identity and state of a file; of one that does not exist, all 0.
struct FileStamp {
  uint64_t device = 0;
  uint64_t inode = 0;
  int64_t changed_ns = 0;  // st_ctim

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

// Follows links.
FileStamp StampOf(const std::string& path);

// Versions of one library's symbols that a file needs (DT_VERNEED), without
// the weak ones.
struct VersionNeed {
  std::string library;  // its soname
  std::vector<std::string> versions;
};

// Names in the dynamic symbol table; views into `text`.
struct SymbolNames {
  std::vector<char> text;
  std::vector<std::string_view> defined;
  std::vector<std::string_view> wanted;  // undefined and not weak
};

// Any thread, one at a time.
class ElfFile {
 public:
  // Not a regular file, or not one of this format: kErrNotFound; damaged:
  // kErrUnpackFailure; not readable: kErrNoPermissions; too many files are
  // open: kErrSysLimitsFiles.
  static Result<ElfFile> Open(const std::string& path);

  const FileStamp& stamp() const { return stamp_; }
  int bits() const { return bits_; }  // 32 or 64; 0: of another byte order
  uint16_t machine() const { return machine_; }
  // Empty for a library, and for a program that is linked statically.
  const std::string& interpreter() const { return interpreter_; }
  bool dynamic() const { return dynamic_; }

  const std::string& soname() const { return soname_; }
  const std::vector<std::string>& needed() const { return needed_; }
  // As written, with $ORIGIN and colons. The rpath of a file with a runpath has
  // no effect and is left out.
  const std::string& rpath() const { return rpath_; }
  const std::string& runpath() const { return runpath_; }
  // The standard directories are not searched (DF_1_NODEFLIB).
  bool no_default_directories() const { return no_default_directories_; }
  const std::vector<VersionNeed>& version_needs() const {
    return version_needs_;
  }
  // Versions that it defines (DT_VERDEF).
  const std::vector<std::string>& versions() const { return versions_; }

  // Read anew by each call. kErrUnpackFailure, also when there are more than
  // four million symbols.
  Result<SymbolNames> ReadSymbols() const;

  // Where the symbols are, as offsets in the file; 0: there are none.
  struct SymbolTable {
    uint64_t symbols = 0;
    uint64_t strings = 0;
    uint64_t strings_size = 0;
    uint64_t hash = 0;
    uint64_t gnu_hash = 0;
  };

 private:
  template <typename Elf>
  friend class HeaderReader;

  UniqueFd fd_;
  uint64_t size_ = 0;
  FileStamp stamp_;
  int bits_ = 0;
  uint16_t machine_ = 0;
  bool dynamic_ = false;
  bool no_default_directories_ = false;
  std::string interpreter_;
  std::string soname_;
  std::vector<std::string> needed_;
  std::string rpath_;
  std::string runpath_;
  std::vector<VersionNeed> version_needs_;
  std::vector<std::string> versions_;
  SymbolTable table_;
};

}  // namespace canopy::loader

#endif  // CANOPY_COMMON_LOADER_ELF_FILE_H_
