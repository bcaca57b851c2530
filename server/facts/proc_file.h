// Reads files of /proc and their numbers.
#ifndef CANOPY_SERVER_FACTS_PROC_FILE_H_
#define CANOPY_SERVER_FACTS_PROC_FILE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::facts {

// The kernel counts in kilobytes, PMIx in megabytes.
inline constexpr float kKilobytesPerMegabyte = 1024;

// The default of arguments that name the directory of /proc; tests name another
// one.
inline constexpr char kProc[] = "/proc";

// Returns at most `max` bytes of the file; an empty string if it cannot be
// read. Thread-safe.
std::string ReadProcFile(const std::string& path, size_t max);

// Returns the lines of a text without their ends.
std::vector<std::string_view> LinesOf(std::string_view text);
// Returns the number at the beginning of a text, or 0 if there is none.
uint64_t NumberIn(std::string_view text);
// Returns the number of a line "NAME: NUMBER ...", or 0 if another word than a
// number follows the name. Returns no value if the text has no such line, or if
// nothing follows the name.
std::optional<uint64_t> NumberOf(std::string_view text, std::string_view name);

}  // namespace canopy::facts

#endif  // CANOPY_SERVER_FACTS_PROC_FILE_H_
