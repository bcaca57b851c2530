// Reads the same data from a program or shared library as the dynamic loader:
// which libraries it needs, where these are searched, and which symbols it
// defines and requires (System V ABI, "Dynamic Linking"). Files are read and
// never mapped, so a file that shrinks meanwhile causes an error and not a
// signal. Memory and time are bounded whatever a file contains.
#ifndef CANOPY_COMMON_LOADER_ELF_FILE_H_
#define CANOPY_COMMON_LOADER_ELF_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace canopy::loader {

// Identity and state of a file; all 0 if the file does not exist.
struct FileStamp {
  uint64_t device = 0;
  uint64_t inode = 0;
  int64_t changed_ns = 0;  // st_ctim

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

// Returns the stamp of the file; symbolic links are followed.
FileStamp StampOf(const std::string& path);

// Symbol versions that a file needs from one library (DT_VERNEED), without the
// weak ones.
struct VersionNeed {
  std::string library;  // soname of the library
  std::vector<std::string> versions;
};

// Names in the dynamic symbol table, as views into `text`.
struct SymbolNames {
  std::vector<char> text;
  std::vector<std::string_view> defined;
  std::vector<std::string_view> wanted;  // undefined and not weak
};

// May be used by any thread, but by one at a time.
class ElfFile {
 public:
  // Opens a file and reads its headers. kErrNotFound: not a regular file or not
  // an ELF file; kErrUnpackFailure: malformed; kErrNoPermissions: not readable;
  // kErrSysLimitsFiles: too many open files.
  static Result<ElfFile> Open(const std::string& path);

  const FileStamp& stamp() const { return stamp_; }
  int bits() const { return bits_; }  // 32 or 64; 0: other byte order
  uint16_t machine() const { return machine_; }
  // Returns the path of the loader; empty for a library and for a statically
  // linked program.
  const std::string& interpreter() const { return interpreter_; }
  bool dynamic() const { return dynamic_; }

  const std::string& soname() const { return soname_; }
  const std::vector<std::string>& needed() const { return needed_; }
  // The rpath as written, with $ORIGIN and colons. Empty if the file also has a
  // runpath, which disables the rpath.
  const std::string& rpath() const { return rpath_; }
  const std::string& runpath() const { return runpath_; }
  // Returns true if the standard directories are not searched (DF_1_NODEFLIB).
  bool no_default_directories() const { return no_default_directories_; }
  const std::vector<VersionNeed>& version_needs() const {
    return version_needs_;
  }
  // Returns the versions that the file defines (DT_VERDEF).
  const std::vector<std::string>& versions() const { return versions_; }

  // Reads the symbols; nothing is cached. kErrUnpackFailure if they are
  // malformed or more than four million.
  Result<SymbolNames> ReadSymbols() const;

  // Returns the number of bytes from `address` to the end of the data object
  // that contains it, by the file's symbol tables. `address` counts from where
  // the file is loaded. Returns no value if no table names such an object.
  // Malformed tables and tables with more than four million symbols are
  // skipped.
  std::optional<uint64_t> BytesOfObjectAt(uint64_t address) const;

  // File offsets of the symbol tables; 0: none.
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
