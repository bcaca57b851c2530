// The text lines of the PMI-1 wire protocol.
#ifndef CANOPY_SERVER_PMI1_PMI1_WIRE_H_
#define CANOPY_SERVER_PMI1_PMI1_WIRE_H_

#include <map>
#include <string>
#include <string_view>

namespace canopy::pmi1 {

// What we promise in answer to get_maxes; terminators included.
inline constexpr size_t kKvsNameMax = 256;
inline constexpr size_t kKeyMax = 256;
inline constexpr size_t kValueMax = 1024;
// A longer line ends the connection.
inline constexpr size_t kMaxLine = 16 << 10;

// One line "cmd=NAME key=value ...". A value ends at the next blank, but the
// one named "value" goes to the end of the line.
struct Command {
  std::string name;
  std::map<std::string, std::string, std::less<>> fields;

  // Empty when it is not there.
  const std::string& Field(std::string_view key) const;
};

// `line` without its end. A line without "cmd=" gives an empty name.
Command ParseCommand(std::string_view line);

}  // namespace canopy::pmi1

#endif  // CANOPY_SERVER_PMI1_PMI1_WIRE_H_
