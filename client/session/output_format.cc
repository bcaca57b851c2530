#include "client/session/output_format.h"

#include <utility>

#include "common/output_xml.h"

namespace canopy::client {
namespace {

constexpr size_t kMaxHeld = size_t{64} << 10;

std::string_view WithoutEnd(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  return line;
}

}  // namespace

const char* ChannelName(uint16_t channel) {
  switch (channel) {
    case 2:
      return "stdout";
    case 4:
      return "stderr";
    default:
      return "stddiag";
  }
}

OutputFormatter::OutputFormatter(const OutputFormat& format,
                                 const ProcId& source, uint16_t channel,
                                 Clock clock)
    : format_(format),
      source_(source),
      channel_(ChannelName(channel)),
      clock_(clock ? std::move(clock) : [] { return std::time(nullptr); }) {}

std::string OutputFormatter::Add(std::string_view data) {
  if (!format_.marks() && format_.raw) return std::string(data);
  std::string out;
  for (;;) {
    const size_t end = data.find('\n');
    if (end == std::string_view::npos) break;
    held_ += data.substr(0, end + 1);
    data.remove_prefix(end + 1);
    out += Mark(std::exchange(held_, {}));
  }
  held_ += data;
  if (held_.size() >= kMaxHeld || (format_.raw && !held_.empty())) {
    out += Mark(std::exchange(held_, {}));
  }
  return out;
}

std::string OutputFormatter::Flush() {
  return held_.empty() ? std::string() : Mark(std::exchange(held_, {}));
}

std::string OutputFormatter::Mark(std::string_view line) const {
  if (!format_.marks()) return std::string(line);
  std::string out;
  if (format_.xml) {
    return OutputElement(channel_, source_, format_.timestamp ? Time() : "",
                         line);
  }
  if (format_.timestamp) out += Time();
  if (format_.tag) {
    out += "[" + source_.nspace + "," + std::to_string(source_.rank) + "]";
  } else if (format_.rank) {
    out += "[" + std::to_string(source_.rank) + "]";
  }
  out += std::string("<") + channel_ + ">: ";
  out += WithoutEnd(line);
  return out + "\n";
}

std::string OutputFormatter::Time() const {
  const std::time_t now = clock_();
  std::tm parts;
  localtime_r(&now, &parts);
  char text[64] = "";
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S%z", &parts);
  return text;
}

}  // namespace canopy::client
