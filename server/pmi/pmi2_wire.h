// The messages of the PMI-2 wire protocol, as requests and from replies.
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

// In front of each message: its length in bytes, in decimal digits with blanks
// on either side.
inline constexpr size_t kHeaderSize = 6;
// A longer message ends the connection. Clients make none.
inline constexpr size_t kMaxMessage = 64 << 10;

// The length that a header of kHeaderSize bytes says; nothing when that is no
// number from 1 to kMaxMessage.
std::optional<size_t> LengthIn(std::string_view header);

// In the order in which the message has them; a key may be there several times.
using Pairs = std::vector<std::pair<std::string, std::string>>;

// "key=value;" one after the other, with each semicolon of a value doubled. A
// key has 1 to 64 letters, digits, '-' and '_'. Nothing for what is no such
// message.
std::optional<Pairs> PairsIn(std::string_view message);

// `message` without its header. One that does not begin with "cmd=" and the
// name of a command gives a request without a name; one that continues with
// other than pairs, a malformed request.
Request ParseMessage(std::string_view message);

// The answer with its header.
std::string AnswerMessage(const Request& request, const Reply& reply);

}  // namespace canopy::pmi

#endif  // CANOPY_SERVER_PMI_PMI2_WIRE_H_
