// Whether a program can use Canopy's libpmix in place of the one that it would
// load by itself: decided before it is started, from its files alone.
#ifndef CANOPY_COMMON_LOADER_LIBRARY_FIT_H_
#define CANOPY_COMMON_LOADER_LIBRARY_FIT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/loader/elf_file.h"
#include "common/loader/link_closure.h"

namespace canopy::loader {

enum class LibraryFit : uint8_t {
  kUnknown,       // a script, or a file that can not be read
  kStatic,        // loads no library
  kNotLinked,     // no libpmix at its start; what it opens later is not known
  kOwnPlace,      // its rpath decides, whatever the environment has
  kFits,          // ours has all that it wants from its own
  kLacksSymbols,  // ours does not: it must have its own
  kCannotLoad,    // ours can not be loaded into it at all
};

// Canopy's library is left out of the program's environment.
constexpr bool NeedsOwnLibrary(LibraryFit fit) {
  return fit == LibraryFit::kLacksSymbols || fit == LibraryFit::kCannotLoad;
}

struct LibraryQuestion {
  std::string program;  // path
  std::string cwd;      // empty: the current directory
  std::string library;  // path of Canopy's libpmix.so.2
  LoaderEnvironment injected;
  LoaderEnvironment own;  // without Canopy's library
};

struct LibraryFinding {
  LibraryFit fit = LibraryFit::kUnknown;
  // Why the program has its own library, in a line that begins with the
  // program; empty when that makes no difference that is known.
  std::string reason;
  // All that was found, a line each: what it is and what it was found to be.
  std::vector<std::pair<std::string, std::string>> details;
  // What decided.
  std::vector<std::pair<std::string, FileStamp>> evidence;
};

// With the rights of the caller, whose environment has no part in it. Opens at
// most some hundred files.
LibraryFinding FindLibraryFit(const LibraryQuestion& question);

// What decided is as it was: the finding holds.
bool IsCurrent(const LibraryFinding& finding);

// The record of a finding; Decode gives false for all that Encode does not
// write.
std::string EncodeFinding(const LibraryFinding& finding);
bool DecodeFinding(std::string_view in, LibraryFinding* finding);

}  // namespace canopy::loader

#endif  // CANOPY_COMMON_LOADER_LIBRARY_FIT_H_
