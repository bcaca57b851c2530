// The messages of the PMI-2 wire protocol: parses requests and formats replies.
#ifndef CANOPY_SERVER_PMI_PMI2_WIRE_H_
#define CANOPY_SERVER_PMI_PMI2_WIRE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/pmi/request.h"

namespace canopy::pmi {

// The size of the header before each message. The header is the length of the
// message in bytes, in decimal digits surrounded by blanks.
inline constexpr size_t kHeaderSize = 6;
// The limit of a message in bytes. A longer message, which clients do not send,
// ends the connection.
inline constexpr size_t kMaxMessage = 64 << 10;

// Returns the length in a header of kHeaderSize bytes; no value if it is not a
// number from 1 to kMaxMessage.
std::optional<size_t> LengthIn(std::string_view header);

// Pairs in the order of the message; a key may occur several times.
using Pairs = std::vector<std::pair<std::string, std::string>>;

// Parses concatenated "key=value;" pairs, in which each semicolon of a value is
// doubled. A key has 1 to 64 letters, digits, '-' and '_'. Returns no value if
// the message is malformed.
std::optional<Pairs> PairsIn(std::string_view message);

// Parses `message`, without its header. A message that does not begin with
// "cmd=" and the name of a command results in a request without a name; a
// message with malformed pairs results in a malformed request.
Request ParseMessage(std::string_view message);

// Returns the answer with its header.
std::string AnswerMessage(const Request& request, const Reply& reply);

}  // namespace canopy::pmi

#endif  // CANOPY_SERVER_PMI_PMI2_WIRE_H_
