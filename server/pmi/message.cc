#include "server/pmi/message.h"

#include <algorithm>
#include <optional>

namespace canopy::pmi {
namespace {

Message FirstLine(std::string_view data) {
  Message message;
  const size_t end = data.find('\n');
  if (std::min(end, data.size()) > kMaxLine) {
    message.problem = "sent a line that is too long";
  } else if (end != data.npos) {
    message.text = data.substr(0, end);
    message.size = end + 1;
  }
  return message;
}

Message FirstWithHeader(std::string_view data) {
  Message message;
  message.is_line = false;
  if (data.size() < kHeaderSize) return message;
  const std::optional<size_t> length = LengthIn(data.substr(0, kHeaderSize));
  if (!length) {
    message.problem = "sent a message without a length that it may have";
    return message;
  }
  message.wanted = kHeaderSize + *length;
  if (data.size() < message.wanted) return message;
  message.text = data.substr(kHeaderSize, *length);
  message.size = message.wanted;
  return message;
}

}  // namespace

Message FirstMessage(bool is_pmi2, std::string_view data) {
  return is_pmi2 && !data.starts_with('c') ? FirstWithHeader(data)
                                           : FirstLine(data);
}

Request RequestIn(const Message& message) {
  return message.is_line ? ParseLine(message.text) : ParseMessage(message.text);
}

}  // namespace canopy::pmi
