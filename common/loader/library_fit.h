// Decides whether a program can use Canopy's libpmix instead of the libpmix
// that the program would load by itself. The decision is made before the
// program is started, from its files alone.
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
  kUnknown,  // a script, or a file that cannot be read
  kStatic,   // loads no library
  // Not linked with libpmix; libraries that it opens later are unknown.
  kNotLinked,
  kOwnPlace,  // the program's rpath decides, whatever the environment contains
  kFits,      // Canopy's library has all symbols that the program requires
  kLacksSymbols,  // Canopy's library lacks symbols that the program requires
  kCannotLoad,    // Canopy's library cannot be loaded into the program
};

// Returns true if Canopy's library must be left out of the program's
// environment.
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
  // The reason why the program uses its own library, in one line that begins
  // with the program. Empty if no difference is known.
  std::string reason;
  // All findings, one line each: a label and a text.
  std::vector<std::pair<std::string, std::string>> details;
  // The files that the decision depends on, with their state.
  std::vector<std::pair<std::string, FileStamp>> evidence;
};

// Reads files with the rights of the caller; the caller's environment is not
// used. Opens a few hundred files at most.
LibraryFinding FindLibraryFit(const LibraryQuestion& question);

// Returns true if the evidence is unchanged, so that the decision is still
// valid.
bool IsCurrent(const LibraryFinding& finding);

// Encode and decode a finding. DecodeFinding returns false for malformed input.
std::string EncodeFinding(const LibraryFinding& finding);
bool DecodeFinding(std::string_view in, LibraryFinding* finding);

}  // namespace canopy::loader

#endif  // CANOPY_COMMON_LOADER_LIBRARY_FIT_H_
